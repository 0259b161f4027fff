import { watchProcesses } from '../../form/process-use.mjs';
import { collect } from '../collect.mjs';
import { startGateway } from '../gateway-process.mjs';
import { startCopyStream, startDevices } from '../workers.mjs';

const PARTITIONS = 3;
const BATCH = 500;
const CONNECTIONS = 16;

/** The whole way, edge and ingest in processes of their own: from the first request until the last report is committed. */
export async function run({ stage, kafka, stops, alternate, share }) {
  const count = CONNECTIONS * BATCH * Math.max(1, Math.round(12 * share));
  await stage.emptyReports(kafka, PARTITIONS);
  const { artifact, databaseUrl } = stage;
  const [edge, ingest] = await Promise.all(
    ['edge', 'ingest'].map((parts) => startGateway({ databaseUrl, brokers: kafka.brokers, parts })),
  );
  stops.add(() => Promise.all([edge.stop(), ingest.stop()]));
  await kafka.groupAtRest('undertone.', 1);
  const devices = startDevices(stops);
  const copier = startCopyStream(stops, databaseUrl);
  const pids = { edge: edge.pid, ingest: ingest.pid, broker: kafka.pid };
  const shape = { count, batch: BATCH, connections: CONNECTIONS };
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
      name: 'end-to-end/copy',
      work: `batches of ${BATCH} over ${CONNECTIONS} connections through Kafka, until stored`,
      unit: 'reports/s',
      better: 'more',
      ours: () => collect({ stage, url: edge.url, devices, pids, ...shape }),
      peer,
      peerName: 'one COPY FROM STDIN of a prebuilt buffer (ceiling)',
      runs: 5,
    }),
  ];
}
