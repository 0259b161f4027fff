// The produce ceiling: raw kafkajs in a process of its own, in the one pattern that loses nothing. Each message goes to
// a partition chosen beforehand, a send holds one partition and up to 1,000 messages, one send a partition is in flight,
// idempotent, acknowledged by all replicas. Works { kind: 'prepare', … } and { kind: 'send', … }.
import { CompressionTypes, Kafka, logLevel, Partitioners } from 'kafkajs';

import { quantile } from '../form/measurement.mjs';
import { serveWork } from '../form/worker.mjs';
import { messageOf, sampleReports } from './sample-reports.mjs';

const MESSAGES_A_SEND = 1_000;

const [brokers] = process.argv.slice(2);
const kafka = new Kafka({
  clientId: 'bench-producer',
  brokers: brokers.split(','),
  logLevel: logLevel.NOTHING,
  retry: { retries: 30, initialRetryTime: 100, maxRetryTime: 1_000 },
});
const producer = kafka.producer({
  idempotent: true,
  maxInFlightRequests: 1,
  createPartitioner: Partitioners.DefaultPartitioner,
});

/** Sends by partition, each a list of messages. */
let sends = [];

async function prepare({ task, artifact, count, partitions }) {
  const partitionOf = Partitioners.DefaultPartitioner();
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
    partitionId,
    leader: 1,
  }));
  sends = Array.from({ length: partitions }, () => []);
  for (const report of sampleReports({ task, artifact, count })) {
    const message = messageOf(report);
    const partition = partitionOf({ topic: 'any', partitionMetadata, message });
    let last = sends[partition].at(-1);
    if (last === undefined || last.length === MESSAGES_A_SEND) sends[partition].push((last = []));
    last.push({ ...message, partition });
  }
  return { sends: sends.flat().length };
}

async function send({ topic, compression = 'none' }) {
  const codec = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP }[compression];
  const latencies = [];
  const began = performance.now();
  await Promise.all(
    sends.map(async (own) => {
      for (const messages of own) {
        const at = performance.now();
        const [answer, ...more] = await producer.send({ topic, messages, acks: -1, compression: codec });
        if (answer?.partition !== messages[0].partition || more.length > 0)
          throw new Error(
            `a send to partition ${messages[0].partition} was answered ${JSON.stringify(answer)}`,
          );
        latencies.push(performance.now() - at);
      }
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  return { seconds, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
}

await producer.connect();
await serveWork(
  (work) => (work.kind === 'prepare' ? prepare(work) : send(work)),
  () => producer.disconnect(),
);
