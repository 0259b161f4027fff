import { Kafka, logLevel } from 'kafkajs';

import { describeWithKafka, startKafkaCluster, testBrokers, uniqueTopic } from './kafka-cluster';

const client = (brokers: readonly string[]): Kafka =>
  new Kafka({
    clientId: 'kafka-local-spec',
    brokers: [...brokers],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 1000,
    requestTimeout: 5000,
    retry: { retries: 30, initialRetryTime: 100, maxRetryTime: 1000 },
  });

async function produce(brokers: readonly string[], topic: string, values: readonly string[]): Promise<void> {
  const producer = client(brokers).producer({ idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  await producer.send({
    topic,
    acks: -1,
    messages: values.map((value) => ({ value, partition: 0 })),
  });
  await producer.disconnect();
}

async function endOffset(brokers: readonly string[], topic: string): Promise<number> {
  const admin = client(brokers).admin();
  await admin.connect();
  const [{ high }] = await admin.fetchTopicOffsets(topic);
  await admin.disconnect();
  return Number(high);
}

async function createTopic(brokers: readonly string[], topic: string): Promise<void> {
  const admin = client(brokers).admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: true });
  await admin.disconnect();
}

describeWithKafka('the broker of the kafka suites', () => {
  it('takes what an idempotent producer sends', async () => {
    const topic = uniqueTopic('shared');
    await createTopic(testBrokers(), topic);
    await produce(testBrokers(), topic, ['one', 'two', 'three']);
    expect(await endOffset(testBrokers(), topic)).toBe(3);
  });
});

describeWithKafka('a cluster of one spec', () => {
  it('keeps its data over kill -9 and start', async () => {
    const cluster = await startKafkaCluster({ brokers: 1 });
    try {
      const topic = uniqueTopic('killed');
      await createTopic(cluster.brokers, topic);
      await produce(cluster.brokers, topic, ['one', 'two']);
      await cluster.kill(1);
      await cluster.start(1);
      await produce(cluster.brokers, topic, ['three']);
      expect(await endOffset(cluster.brokers, topic)).toBe(3);
    } finally {
      await cluster.close();
    }
  });
});
