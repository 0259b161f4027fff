import { watchProcesses } from '../form/process-use.mjs';

/**
 * Devices send new reports of a new task; the clock runs from the first request until every report is committed to the
 * table. `p50` and `p99` are the times to 202.
 *
 * @param {{ stage: import('./stage.mjs').Stage, url: string, devices: ReturnType<import('../form/worker.mjs').startWorker>,
 *   pids: Record<string, number>, count: number, batch: number, connections: number }} options
 */
export async function collect({ stage, url, devices, pids, count, batch, connections }) {
  const task = await stage.newTask();
  await devices.ask({ kind: 'prepare', task, artifact: stage.artifact, count, batch });
  const { result, processes } = await watchProcesses(
    { ...pids, postgresql: stage.postgresPid, devices: devices.pid },
    async () => {
      const sent = await devices.ask({ kind: 'send', url: `${url}/v1/tasks/${task}/reports`, connections });
      return { ...sent, storedAt: await stage.stored(task, count) };
    },
  );
  const { beganAt, storedAt, p50, p99 } = result;
  return { figure: count / ((storedAt - beganAt) / 1000), p50, p99, processes };
}
