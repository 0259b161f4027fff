import { createRequire } from 'node:module';
import path from 'node:path';

/** @type {import('./driver.mjs').OpenDriver} */
export function openDriver({ folder, brokers, name }) {
  const require = createRequire(path.join(folder, 'package.json'));
  const { KafkaJS } = require('@confluentinc/kafka-javascript');
  const kafka = new KafkaJS.Kafka({
    kafkaJS: { clientId: name, brokers, logLevel: KafkaJS.logLevel.NOTHING, connectionTimeout: 1_000 },
    log_level: 0,
  });

  return {
    async openProducer(topic) {
      const producer = kafka.producer({
        kafkaJS: { idempotent: true, acks: -1 },
        'linger.ms': 0,
        'delivery.timeout.ms': 60_000,
        'batch.num.messages': 10_000,
      });
      await producer.connect();
      const send = async (messages) => {
        await producer.send({ topic, messages });
      };
      return {
        produce: (partition, values) => send(values.map((value) => ({ partition, value }))),
        produceSpanning: (parts) =>
          send(parts.flatMap(({ partition, values }) => values.map((value) => ({ partition, value })))),
        close: () => producer.disconnect(),
      };
    },

    async openConsumer({ topic, group, sessionMs, take }) {
      const consumer = kafka.consumer({
        kafkaJS: {
          groupId: group,
          fromBeginning: true,
          autoCommit: false,
          sessionTimeout: sessionMs,
          heartbeatInterval: 1_000,
          maxWaitTimeInMs: 200,
        },
        'js.consumer.max.batch.size': 1_000,
      });
      await consumer.connect();
      await consumer.subscribe({ topic });
      await consumer.run({
        eachBatchAutoResolve: false,
        eachBatch: async ({ batch, resolveOffset, isStale }) => {
          if (isStale() || batch.messages.length === 0) return;
          const { partition, messages } = batch;
          const last = messages.at(-1).offset;
          await take({ partition, values: messages.map(({ value }) => value) });
          resolveOffset(last);
          const offset = String(BigInt(last) + 1n);
          await consumer.commitOffsets([{ topic, partition, offset }]).catch(() => {});
        },
      });
      return { close: () => consumer.disconnect() };
    },
  };
}
