import { watchProcesses } from '../../form/process-use.mjs';
import { startGateway } from '../gateway-process.mjs';
import { startCopyStream, startProducer } from '../workers.mjs';

const PARTITIONS = 3;
const COUNT = 120_000;

/** From a filled topic into the table, until committed, against one COPY of as many rows into a table like it. */
export async function run({ stage, kafka, stops, alternate, share }) {
  const count = Math.round(COUNT * share);
  const topic = await kafka.emptyReports(PARTITIONS);
  const { artifact, databaseUrl } = stage;
  const gateway = await startGateway({ databaseUrl, brokers: kafka.brokers, parts: 'ingest' });
  stops.add(() => gateway.stop());
  await kafka.groupAtRest('undertone.', 1);
  const producer = startProducer(stops, kafka.brokers.join(','));
  const copier = startCopyStream(stops, databaseUrl);
  const postgres = { postgresql: stage.postgresPid };

  const ours = async () => {
    const task = await stage.newTask();
    await producer.ask({ kind: 'prepare', task, artifact, count, partitions: PARTITIONS });
    // Held, the ingest can't begin before all is there; it goes on as a process that has long been running.
    gateway.hold();
    await producer.ask({ kind: 'send', topic }).catch((error) => {
      gateway.release();
      throw error;
    });
    const { result: seconds, processes } = await watchProcesses(
      { ingest: gateway.pid, ...postgres, broker: kafka.pid },
      async () => {
        const began = Date.now();
        gateway.release();
        return ((await stage.stored(task, count)) - began) / 1000;
      },
    );
    return { figure: count / seconds, processes };
  };
  const peer = async () => {
    await copier.ask({ kind: 'prepare', task: 'bench', artifact, count });
    const { result, processes } = await watchProcesses({ copy: copier.pid, ...postgres }, () =>
      copier.ask({ kind: 'copy' }),
    );
    return { figure: count / result.seconds, processes };
  };
  return [
    await alternate({
      name: 'ingest/copy',
      work: `${PARTITIONS} partitions of a filled topic into the table, until stored`,
      unit: 'reports/s',
      better: 'more',
      ours,
      peer,
      peerName: 'one COPY FROM STDIN of a prebuilt buffer (ceiling)',
      runs: 5,
    }),
  ];
}
