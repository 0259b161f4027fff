import { watchProcesses } from '../form/process-use.mjs';

/**
 * Fills the topic with new reports of a new task, then lets running ingests take them into the table; the clock runs
 * from their release until every report is committed.
 *
 * @param {{ stage: import('./stage.mjs').Stage, kafka: import('./kafka-stage.mjs').KafkaStage,
 *   ingests: { pid: number, hold: () => void, release: () => void }[], producer: { ask: (work: object) => Promise<any> },
 *   topic: string, partitions: number, count: number }} options
 */
export async function drain({ stage, kafka, ingests, producer, topic, partitions, count }) {
  const task = await stage.newTask();
  await producer.ask({ kind: 'prepare', task, artifact: stage.artifact, count, partitions });
  const release = () => ingests.forEach((ingest) => ingest.release());
  // Held, an ingest can't begin before all is there; it goes on as a process that has long been running.
  ingests.forEach((ingest) => ingest.hold());
  try {
    await producer.ask({ kind: 'send', topic });
  } catch (error) {
    release();
    throw error;
  }
  const names = ingests.length === 1 ? ['ingest'] : ingests.map((_, i) => `ingest-${i + 1}`);
  const pids = Object.fromEntries(ingests.map(({ pid }, i) => [names[i], pid]));
  const { result: seconds, processes } = await watchProcesses(
    { ...pids, postgresql: stage.postgresPid, broker: kafka.pid },
    async () => {
      const began = Date.now();
      release();
      return ((await stage.stored(task, count)) - began) / 1000;
    },
  );
  return { figure: count / seconds, processes };
}
