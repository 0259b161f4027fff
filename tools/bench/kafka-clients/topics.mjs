// Topics for the runs, and what is in them, told by the project's own client through the plainest of its calls.
import { setTimeout as sleep } from 'node:timers/promises';

import { Kafka, logLevel } from 'kafkajs';

import { WARM_UP, numberOf } from './payload.mjs';

const READY_WITHIN_MS = 90_000;
const READ_WITHIN_MS = 120_000;

/** @param {string[]} brokers node 1 first */
export async function connectTopics(brokers) {
  const retry = { retries: 30, initialRetryTime: 100, maxRetryTime: 1_000 };
  const kafka = new Kafka({ clientId: 'bench-topics', brokers, logLevel: logLevel.NOTHING, retry });
  const admin = kafka.admin({ retry });
  await admin.connect();
  let made = 0;
  const prefix = `bench-${Date.now().toString(36)}`;

  /** All replicas of all topics in sync, those of the groups' offsets too: the next fault meets a whole cluster. */
  const whole = async () => {
    const { brokers: there } = await admin.describeCluster();
    const { topics } = await admin.fetchTopicMetadata().catch(() => ({ topics: undefined })); // one was just made or deleted
    if (topics === undefined) return false;
    const partitions = topics.flatMap((topic) => topic.partitions);
    return (
      there.length === brokers.length &&
      partitions.every(({ isr, replicas }) => isr.length === replicas.length)
    );
  };

  const led = async (topic) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] }).catch(() => ({ topics: [] }));
    return topics.length === 1 && topics[0].partitions.every(({ leader }) => leader > 0);
  };

  return {
    /** @param {{ partitions: number, firstLeader?: number }} options firstLeader: the broker that leads partition 0 */
    async create({ partitions, firstLeader = 1 }) {
      await until('a whole cluster', READY_WITHIN_MS, whole);
      const topic = `${prefix}-${++made}`;
      const nodes = brokers.map((_, i) => i + 1);
      const replicaAssignment = Array.from({ length: partitions }, (_, partition) => ({
        partition,
        replicas: nodes.map((_, i) => nodes[(firstLeader - 1 + partition + i) % nodes.length]),
      }));
      await admin.createTopics({ topics: [{ topic, replicaAssignment }], waitForLeaders: false });
      await until(`leaders of ${topic}`, READY_WITHIN_MS, () => led(topic));
      return topic;
    },

    delete: (topics) => admin.deleteTopics({ topics }).catch(() => {}),

    /** @returns {Promise<number[][]>} by partition, the numbers of all messages in the order of the log */
    async read(topic) {
      const offsets = await admin.fetchTopicOffsets(topic);
      const wanted = offsets.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0);
      const partitions = offsets.map(() => []);
      let count = 0;
      const consumer = kafka.consumer({ groupId: `${topic}-reader`, maxWaitTimeInMs: 200, retry });
      await consumer.connect();
      try {
        await consumer.subscribe({ topic, fromBeginning: true });
        await consumer.run({
          autoCommit: false,
          eachBatch: async ({ batch }) => {
            const numbers = partitions[batch.partition];
            for (const { offset, value } of batch.messages) {
              if (numbers[offset] === undefined) count += 1; // a message may come twice
              numbers[offset] = numberOf(value);
            }
          },
        });
        await until(`all ${wanted} messages of ${topic}`, READ_WITHIN_MS, () => count >= wanted);
      } finally {
        await consumer.disconnect();
      }
      return partitions.map((numbers) => numbers.filter((number) => number !== WARM_UP));
    },

    close: () => admin.disconnect(),
  };
}

export async function until(what, withinMs, test) {
  const end = Date.now() + withinMs;
  for (;;) {
    if (await test()) return;
    if (Date.now() > end) throw new Error(`no ${what} within ${withinMs / 1000} s`);
    await sleep(100);
  }
}
