import { withStops } from '../../form/stops.mjs';
import { drain } from '../drain.mjs';
import { startGateway } from '../gateway-process.mjs';
import { startProducer } from '../workers.mjs';

const PARTITIONS = [1, 4, 16];
const CONSUMERS = [1, 2, 4];
const COUNT = 80_000;

/** The ingest of a filled topic by several processes; each row against the first: one partition, one consumer. */
export async function run({ stage, kafka, measure, share }) {
  const count = Math.round(COUNT * share);
  const rows = [];
  for (const partitions of PARTITIONS) {
    for (const consumers of CONSUMERS) {
      const row = await withStops((stops) =>
        measureDrain({ stage, kafka, stops, measure, partitions, consumers, count }),
      );
      const first = rows[0] ?? row;
      const ratio = Number((row.ours / first.ours).toPrecision(4));
      rows.push({ ...row, peer: first.ours, peerName: 'the first row', ratio });
    }
  }
  return rows;
}

async function measureDrain({ stage, kafka, stops, measure, partitions, consumers, count }) {
  const topic = await stage.emptyReports(kafka, partitions);
  const { databaseUrl } = stage;
  const ingests = await Promise.all(
    Array.from({ length: consumers }, () =>
      startGateway({ databaseUrl, brokers: kafka.brokers, parts: 'ingest' }),
    ),
  );
  stops.add(() => Promise.all(ingests.map((ingest) => ingest.stop())));
  await kafka.groupAtRest('undertone.', consumers);
  const producer = startProducer(stops, kafka.brokers.join(','));
  return measure({
    name: `ingest-${partitions}-partitions-${consumers}-consumers`,
    work: `${partitions} partition(s) into the table by ${consumers} consumer process(es), until stored`,
    unit: 'reports/s',
    ours: () => drain({ stage, kafka, ingests, producer, topic, partitions, count }),
    runs: 3,
  });
}
