import { watchProcesses } from '../../form/process-use.mjs';
import { startGateway } from '../gateway-process.mjs';
import { startDevices, startEcho } from '../workers.mjs';

const PARTITIONS = 3;
/** The row of the first count bears the part's own name. */
const CONNECTIONS = [256, 64, 16];
const COUNT = 40_960;

/** The endpoint for single reports in front of Kafka against a bare Fastify route that answers the same body. */
export async function run({ stage, kafka, stops, alternate, share }) {
  const count = Math.max(256, 256 * Math.round((COUNT / 256) * share));
  await kafka.emptyReports(PARTITIONS);
  const task = await stage.newTask();
  const { artifact, databaseUrl } = stage;
  const gateway = await startGateway({ databaseUrl, brokers: kafka.brokers, parts: 'edge' });
  stops.add(() => gateway.stop());
  const devices = startDevices(stops);
  const echo = startEcho(stops);
  const { url: echoUrl } = await echo.ask({ kind: 'address' });
  await devices.ask({ kind: 'prepare', task, artifact, count, batch: 1 });

  const send = async (base, connections, pids) => {
    const url = `${base}/v1/tasks/${task}/reports`;
    const { result, processes } = await watchProcesses({ ...pids, devices: devices.pid }, () =>
      devices.ask({ kind: 'send', url, connections }),
    );
    return { figure: count / result.seconds, p50: result.p50, p99: result.p99, processes };
  };
  const rows = [];
  for (const [i, connections] of CONNECTIONS.entries()) {
    rows.push(
      await alternate({
        name: `gateway-single/fastify-echo${i === 0 ? '' : `@${connections}`}`,
        work: `single reports over ${connections} connections into Kafka, until acknowledged`,
        unit: 'reports/s',
        better: 'more',
        ours: () => send(gateway.url, connections, { gateway: gateway.pid, broker: kafka.pid }),
        peer: () => send(echoUrl, connections, { echo: echo.pid }),
        peerName: 'bare Fastify route that echoes the same body (ceiling)',
        runs: i === 0 ? 5 : 3,
      }),
    );
  }
  return rows;
}
