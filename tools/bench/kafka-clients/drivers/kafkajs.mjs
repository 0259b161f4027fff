import { createRequire } from 'node:module';
import path from 'node:path';

const RETRY = { retries: 30, initialRetryTime: 100, maxRetryTime: 1_000 };

/** @type {import('./driver.mjs').OpenDriver} */
export function openDriver({ folder, brokers, name }) {
  const require = createRequire(path.join(folder, 'package.json'));
  const { CompressionTypes, Kafka, Partitioners, logLevel } = require('kafkajs');
  const kafka = new Kafka({
    clientId: name,
    brokers,
    logLevel: logLevel.NOTHING,
    connectionTimeout: 1_000,
    requestTimeout: 5_000,
    retry: RETRY,
  });

  return {
    async openProducer(topic) {
      const open = async () => {
        const producer = kafka.producer({
          idempotent: true,
          maxInFlightRequests: 1,
          createPartitioner: Partitioners.DefaultPartitioner,
          retry: RETRY,
        });
        await producer.connect();
        return producer;
      };
      let producer = await open();
      const send = async (messages) => {
        const used = producer;
        try {
          return await used.send({ topic, acks: -1, compression: CompressionTypes.None, messages });
        } catch (error) {
          // It hands the sequence numbers of a failed send back: the next send could be taken for a repeat of it.
          if (producer === used) {
            producer = await open();
            used.disconnect().catch(() => {});
          }
          throw error;
        }
      };
      return {
        async produce(partition, values) {
          const result = await send(values.map((value) => ({ partition, value })));
          if (result.length !== 1 || result[0].partition !== partition)
            throw new Error(`the answer doesn't hold partition ${partition}`);
        },
        /** As the client is used everywhere: what it answers is taken for an acknowledgement. */
        async produceSpanning(parts) {
          await send(parts.flatMap(({ partition, values }) => values.map((value) => ({ partition, value }))));
        },
        close: () => producer.disconnect(),
      };
    },

    async openConsumer({ topic, group, sessionMs, pattern, take, ended }) {
      const consumer = kafka.consumer({
        groupId: group,
        sessionTimeout: sessionMs,
        heartbeatInterval: 1_000,
        maxWaitTimeInMs: 200,
        retry: RETRY,
      });
      consumer.on(consumer.events.CRASH, ({ payload }) => {
        if (!payload.restart) ended(payload.error.type ?? payload.error.name);
      });
      await consumer.connect();
      await consumer.subscribe({ topic, fromBeginning: true });
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: async ({ batch, commitOffsetsIfNecessary, heartbeat, isStale, resolveOffset }) => {
          if (isStale() || batch.messages.length === 0) return;
          const { partition, messages } = batch;
          const last = messages.at(-1).offset;
          await take({ partition, values: messages.map(({ value }) => value) });
          resolveOffset(last);
          const offset = String(BigInt(last) + 1n);
          // The consumer's own `commitOffsets` tries again and again what can't succeed, a commit of a session that
          // is over for one, and no heartbeat is sent meanwhile.
          const committed =
            pattern === 'awaited-commit'
              ? consumer.commitOffsets([{ topic, partition, offset }])
              : commitOffsetsIfNecessary({ topics: [{ topic, partitions: [{ partition, offset }] }] });
          await committed.catch(() => {});
          await heartbeat();
        },
      });
      return { close: () => consumer.disconnect() };
    },
  };
}
