import { type Admin, type EachMessagePayload, type Kafka } from 'kafkajs';

import { uniqueTopic } from './kafka-cluster';

export interface RawTopicSettings {
  readonly partitions: number;
  /** 1 unless given; one less must be in sync. */
  readonly replicas?: number;
  /** Those of a topic that keeps its entries unless given. */
  readonly settings?: Readonly<Record<string, string>>;
}

const KEEPING = {
  'cleanup.policy': 'delete',
  'retention.ms': '-1',
  'message.timestamp.type': 'LogAppendTime',
};

/** Makes a topic and waits until it is known. */
export async function createRawTopic(
  admin: Admin,
  { partitions, replicas = 1, settings = KEEPING }: RawTopicSettings,
): Promise<string> {
  const topic = uniqueTopic('report-log');
  const all = { 'min.insync.replicas': `${Math.max(1, replicas - 1)}`, ...settings };
  const configEntries = Object.entries(all).map(([name, value]) => ({ name, value }));
  await admin.createTopics({
    topics: [{ topic, numPartitions: partitions, replicationFactor: replicas, configEntries }],
    waitForLeaders: false,
  });
  // Kafkajs's own waiting takes a topic that isn't known yet for a failure.
  while (!(await admin.listTopics()).includes(topic)) continue;
  return topic;
}

export interface RawMessage {
  readonly partition: number;
  readonly offset: bigint;
  readonly key: Buffer;
  readonly value: Buffer;
  readonly schema: string | undefined;
}

/** Everything that is in a topic, each partition in order, with no part of the adapter in between. */
export async function readRawTopic(kafka: Kafka, topic: string): Promise<RawMessage[]> {
  const admin = kafka.admin();
  await admin.connect();
  const offsets = await admin.fetchTopicOffsets(topic);
  await admin.disconnect();
  const missing = new Map(
    offsets
      .filter(({ low, high }) => low !== high)
      .map(({ partition, high }) => [partition, BigInt(high) - 1n]),
  );
  const messages: RawMessage[] = [];
  if (missing.size === 0) return messages;
  const consumer = kafka.consumer({ groupId: uniqueTopic('reads-all'), maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await new Promise<void>((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload: { error } }) => reject(error));
    const eachMessage = async ({ partition, message }: EachMessagePayload): Promise<void> => {
      const offset = BigInt(message.offset);
      const { key, value, headers } = message;
      messages.push({
        partition,
        offset,
        key: key as Buffer,
        value: value as Buffer,
        schema: headers?.schema?.toString(),
      });
      if (missing.get(partition) === offset) missing.delete(partition);
      if (missing.size === 0) resolve();
    };
    consumer.run({ eachMessage }).catch(reject);
  });
  await consumer.disconnect();
  return messages;
}
