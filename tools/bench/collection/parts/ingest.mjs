import { watchProcesses } from '../../form/process-use.mjs';
import { drain } from '../drain.mjs';
import { startGateway } from '../gateway-process.mjs';
import { startCopyStream, startProducer } from '../workers.mjs';

const PARTITIONS = 3;
const COUNT = 240_000;

/** From a filled topic into the table, until committed, against one COPY of as many rows into a table like it. */
export async function run({ stage, kafka, stops, alternate, share }) {
  const count = Math.round(COUNT * share);
  const topic = await stage.emptyReports(kafka, PARTITIONS);
  const { artifact, databaseUrl } = stage;
  const gateway = await startGateway({ databaseUrl, brokers: kafka.brokers, parts: 'ingest' });
  stops.add(() => gateway.stop());
  await kafka.groupAtRest('undertone.', 1);
  const producer = startProducer(stops, kafka.brokers.join(','));
  const copier = startCopyStream(stops, databaseUrl);

  const peer = async () => {
    await copier.ask({ kind: 'prepare', task: 'bench', artifact, count });
    const { result, processes } = await watchProcesses(
      { copy: copier.pid, postgresql: stage.postgresPid },
      () => copier.ask({ kind: 'copy' }),
    );
    return { figure: count / result.seconds, processes };
  };
  return [
    await alternate({
      name: 'ingest/copy',
      work: `${PARTITIONS} partitions of a filled topic into the table, until stored`,
      unit: 'reports/s',
      better: 'more',
      ours: () => drain({ stage, kafka, ingests: [gateway], producer, topic, partitions: PARTITIONS, count }),
      peer,
      peerName: 'one COPY FROM STDIN of a prebuilt buffer (ceiling)',
      runs: 5,
    }),
  ];
}
