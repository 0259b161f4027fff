import { watchProcesses } from '../../form/process-use.mjs';
import { withStops } from '../../form/stops.mjs';
import { drain } from '../drain.mjs';
import { startGateway } from '../gateway-process.mjs';
import { startCopyStream, startProducer } from '../workers.mjs';

/** As many as the platform gives its topic. */
const PARTITIONS = 6;
/** The row of one ingest process bears the part's own name. */
const PROCESSES = [1, 2];
const COUNT = 240_000;

/** From a filled topic into the table, until committed, against one COPY of as many rows into a table like it. */
export async function run({ stops, ...surroundings }) {
  const copier = startCopyStream(stops, surroundings.stage.databaseUrl);
  const rows = [];
  for (const processes of PROCESSES)
    rows.push(await withStops((own) => measureIngest({ ...surroundings, stops: own, copier, processes })));
  return rows;
}

async function measureIngest({ stage, kafka, stops, alternate, share, copier, processes }) {
  const count = Math.round(COUNT * share);
  const topic = await stage.emptyReports(kafka, PARTITIONS);
  const { artifact, databaseUrl } = stage;
  const ingests = await Promise.all(
    Array.from({ length: processes }, () =>
      startGateway({ databaseUrl, brokers: kafka.brokers, parts: 'ingest' }),
    ),
  );
  stops.add(() => Promise.all(ingests.map((ingest) => ingest.stop())));
  await kafka.groupAtRest('undertone.', processes);
  const producer = startProducer(stops, kafka.brokers.join(','));

  const peer = async () => {
    await copier.ask({ kind: 'prepare', task: 'bench', artifact, count });
    const { result, processes: uses } = await watchProcesses(
      { copy: copier.pid, postgresql: stage.postgresPid },
      () => copier.ask({ kind: 'copy' }),
    );
    return { figure: count / result.seconds, processes: uses };
  };
  return alternate({
    name: processes === 1 ? 'ingest/copy' : `ingest/copy@${processes}`,
    work: `${PARTITIONS} partitions of a filled topic into the table by ${processes} process(es), until stored`,
    unit: 'reports/s',
    better: 'more',
    ours: () => drain({ stage, kafka, ingests, producer, topic, partitions: PARTITIONS, count }),
    peer,
    peerName: 'one COPY FROM STDIN of a prebuilt buffer (ceiling)',
    runs: 5,
  });
}
