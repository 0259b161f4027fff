import { createRequire } from 'node:module';
import path from 'node:path';

const MAXIMUM_BATCH = 5_000;
const MEBIBYTE = 1_048_576;

// All releases from 2.0 on call this function of Node 22; nothing else that is used here is missing on Node 20.
Promise.withResolvers ??= () => {
  const resolvers = {};
  resolvers.promise = new Promise((resolve, reject) => Object.assign(resolvers, { resolve, reject }));
  return resolvers;
};

/** @type {import('./driver.mjs').OpenDriver} */
export function openDriver({ folder, brokers, name }) {
  const require = createRequire(path.join(folder, 'package.json'));
  const {
    Consumer,
    MessagesStreamFallbackModes,
    MessagesStreamModes,
    ProduceAcks,
    Producer,
  } = require('@platformatic/kafka');
  const connection = {
    clientId: name,
    bootstrapBrokers: brokers,
    connectTimeout: 1_000,
    timeout: 5_000,
    retryDelay: 250,
  };

  return {
    async openProducer(topic) {
      const producer = new Producer({ ...connection, retries: 120, idempotent: true, acks: ProduceAcks.ALL });
      const send = async (messages) => {
        await producer.send({ messages });
      };
      const messagesOf = ({ partition, values }) => values.map((value) => ({ topic, partition, value }));
      return {
        produce: (partition, values) => send(messagesOf({ partition, values })),
        produceSpanning: (parts) => send(parts.flatMap(messagesOf)),
        close: () => producer.close(),
      };
    },

    async openConsumer({ topic, group, sessionMs, take, ended }) {
      const consumer = new Consumer({
        ...connection,
        retries: true,
        groupId: group,
        autocommit: false,
        sessionTimeout: sessionMs,
        rebalanceTimeout: sessionMs,
        heartbeatInterval: 1_000,
        maxWaitTime: 200,
        // As the others by default; its own default of 50 MiB keeps the first message waiting for seconds.
        maxBytes: 10 * MEBIBYTE,
        maxBytesPerPartition: MEBIBYTE,
      });
      const stream = await consumer.consume({
        topics: [topic],
        mode: MessagesStreamModes.COMMITTED,
        fallbackMode: MessagesStreamFallbackModes.EARLIEST,
      });
      let closing = false;
      const taken = takeAll({ consumer, stream, topic, take }).then(
        () => closing || ended('the stream ended'),
        (error) => closing || ended(error.code ?? error.name),
      );
      return {
        close: async () => {
          closing = true;
          await stream.close();
          await taken;
          await consumer.close();
        },
      };
    },
  };
}

/** The stream gives single messages; what has arrived together goes on together, partition by partition. */
async function takeAll({ consumer, stream, topic, take }) {
  for await (const message of stream) {
    const partitions = new Map();
    let count = 0;
    for (let next = message; next !== null; next = ++count < MAXIMUM_BATCH ? stream.read() : null) {
      const batch = partitions.get(next.partition) ?? { values: [] };
      batch.values.push(next.value);
      batch.last = next;
      partitions.set(next.partition, batch);
    }
    for (const [partition, { values, last }] of partitions) {
      await take({ partition, values });
      const offset = { topic, partition, offset: last.offset + 1n, leaderEpoch: -1 };
      await consumer.commit({ offsets: [offset] }).catch(() => {});
    }
  }
}
