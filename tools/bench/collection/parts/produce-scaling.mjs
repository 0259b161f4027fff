import { watchProcesses } from '../../form/process-use.mjs';
import { startProducer } from '../workers.mjs';

const PARTITIONS = [1, 4, 16];
const COUNT = 100_000;

/** Raw kafkajs in the safe pattern over partitions and compressions; each row against one partition without compression. */
export async function run({ stage, kafka, stops, measure, share, log }) {
  const count = Math.round(COUNT * share);
  const producer = startProducer(stops, kafka.brokers.join(','));
  const { artifact } = stage;
  const rows = [];
  const add = async (partitions, compression) => {
    const topic = await kafka.emptyTwin(`bench.produce-${partitions}-${compression}`, partitions);
    await producer.ask({ kind: 'prepare', task: 'bench', artifact, count, partitions });
    let sends = 0;
    const row = await measure({
      name: `produce-${partitions}-partitions-${compression}`,
      work: `raw kafkajs, same safe pattern, ${partitions} partition(s), compression ${compression}`,
      unit: 'messages/s',
      ours: async () => {
        const { result, processes } = await watchProcesses(
          { producer: producer.pid, broker: kafka.pid },
          () => producer.ask({ kind: 'send', topic, compression }),
        );
        sends++;
        return { figure: count / result.seconds, p50: result.p50, p99: result.p99, processes };
      },
      runs: 3,
    });
    const bytes = Math.round(kafka.bytesOf(topic) / (sends * count));
    log(`    ${bytes} bytes a message on the disk`);
    const first = rows[0] ?? row;
    const ratio = Number((row.ours / first.ours).toPrecision(4));
    rows.push({ ...row, peer: first.ours, peerName: 'the first row', ratio, bytesAMessage: bytes });
  };
  for (const partitions of PARTITIONS) await add(partitions, 'none');
  await add(4, 'gzip');
  return rows;
}
