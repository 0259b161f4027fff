import { watchProcesses } from '../../form/process-use.mjs';
import { startConsumer, startProducer } from '../workers.mjs';

const PARTITIONS = 3;
const COUNT = 200_000;

/** What the ingest could read at most: raw kafkajs that does nothing with the messages. */
export async function run({ stage, kafka, stops, measure, share }) {
  const count = Math.round(COUNT * share);
  const topic = await kafka.emptyTwin('bench.consume', PARTITIONS);
  const producer = startProducer(stops, kafka.brokers.join(','));
  const { artifact } = stage;
  await producer.ask({ kind: 'prepare', task: 'bench', artifact, count, partitions: PARTITIONS });
  await producer.ask({ kind: 'send', topic });
  const consumer = startConsumer(stops, kafka.brokers.join(','));
  return [
    await measure({
      name: 'kafka-consume',
      work: 'raw kafkajs reads the same messages in batches (ceiling)',
      unit: 'messages/s',
      ours: async () => {
        const { result, processes } = await watchProcesses(
          { consumer: consumer.pid, broker: kafka.pid },
          () => consumer.ask({ kind: 'read', topic, count }),
        );
        return { figure: result.messages / result.seconds, processes };
      },
      runs: 3,
    }),
  ];
}
