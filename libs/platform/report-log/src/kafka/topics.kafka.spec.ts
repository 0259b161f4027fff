import { type Admin, ConfigResourceTypes, Kafka, logLevel } from 'kafkajs';

import {
  describeWithKafka,
  type KafkaCluster,
  startKafkaCluster,
  testBrokers,
  uniqueTopic,
} from '../../testing/kafka-cluster';
import { applyTopics, previewTopics, type TopicPlan, topicPlans } from './topics';

const connect = async (brokers: readonly string[]): Promise<Admin> => {
  const admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  return admin;
};

const settingsOf = async (admin: Admin, name: string): Promise<Record<string, string>> => {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: ConfigResourceTypes.TOPIC, name }],
  });
  return Object.fromEntries(resources[0].configEntries.map((e) => [e.configName, e.configValue]));
};

const partitionsOf = async (admin: Admin, topic: string) =>
  (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions;

describeWithKafka('topics', () => {
  let admin: Admin;
  let topic: string;
  const plan = (differing: Partial<TopicPlan> = {}): TopicPlan => ({
    ...topicPlans()[0],
    topic,
    newPartitions: 2,
    ...differing,
  });

  beforeAll(async () => {
    admin = await connect(testBrokers());
  });
  afterAll(() => admin.disconnect());
  beforeEach(() => {
    topic = uniqueTopic('topics');
  });

  it('are created as planned, and a second time left alone', async () => {
    const plans = topicPlans().map((one) => ({ ...one, topic: `${topic}-${one.topic}` }));
    const preview = await previewTopics(admin, plans);
    expect(preview.map(({ action }) => action)).toEqual(['created', 'created']);
    expect(await admin.listTopics()).not.toContain(plans[0].topic);

    expect(await applyTopics(admin, plans)).toEqual(preview);
    const [reports, rejected] = await Promise.all(plans.map((one) => settingsOf(admin, one.topic)));
    expect(reports).toMatchObject({
      'message.timestamp.type': 'LogAppendTime',
      'retention.ms': '-1',
      'retention.bytes': '-1',
      'min.insync.replicas': '1',
      'compression.type': 'uncompressed',
      'cleanup.policy': 'delete',
    });
    expect(rejected).toMatchObject({ 'retention.ms': '2592000000' });
    expect(await partitionsOf(admin, plans[0].topic)).toHaveLength(6);
    expect(await partitionsOf(admin, plans[1].topic)).toHaveLength(1);

    for (const again of [await previewTopics(admin, plans), await applyTopics(admin, plans)]) {
      expect(again).toEqual(plans.map((one) => ({ topic: one.topic, action: 'unchanged', details: [] })));
    }
  });

  it('that exist are changed where they differ, and keep what the plan doesn’t name', async () => {
    await admin.createTopics({
      topics: [
        {
          topic,
          numPartitions: 1,
          configEntries: [
            { name: 'retention.ms', value: '1000' },
            { name: 'flush.ms', value: '12345' },
            { name: 'compression.type', value: 'gzip' },
          ],
        },
      ],
    });
    const preview = await previewTopics(admin, [plan({ partitions: 3 })]);
    const changes = await applyTopics(admin, [plan({ partitions: 3 })]);
    expect(changes).toEqual(preview);
    expect(changes[0].action).toBe('changed');
    expect(changes[0].details).toEqual(
      expect.arrayContaining([
        'partitions 1 → 3',
        'retention.ms 1000 → -1',
        'compression.type gzip → uncompressed',
      ]),
    );
    expect(await settingsOf(admin, topic)).toMatchObject({
      'retention.ms': '-1',
      'flush.ms': '12345',
      'compression.type': 'uncompressed',
    });
    expect(await partitionsOf(admin, topic)).toHaveLength(3);
    expect((await applyTopics(admin, [plan({ partitions: 3 })]))[0].action).toBe('unchanged');
  });

  it('keep their partitions where no number is asked for', async () => {
    await admin.createTopics({ topics: [{ topic, numPartitions: 5 }] });
    await applyTopics(admin, [plan()]);
    expect(await partitionsOf(admin, topic)).toHaveLength(5);
  });

  it('are all left alone when one of them would lose partitions', async () => {
    await applyTopics(admin, [plan({ partitions: 4 })]);
    const other = plan({ topic: `${topic}-other` });
    for (const change of [previewTopics, applyTopics]) {
      await expect(change(admin, [other, plan({ partitions: 3 })])).rejects.toMatchObject({
        code: 'topics-refused',
        refusals: [{ topic, rule: 'partitions-lowered' }],
        message: expect.stringMatching(/has partitions 4, and 3 were asked for/),
      });
    }
    expect(await partitionsOf(admin, topic)).toHaveLength(4);
    expect(await admin.listTopics()).not.toContain(other.topic);
  });

  it('are refused with all that is impossible about them at once', async () => {
    await expect(
      applyTopics(admin, [
        plan({ replicationFactor: 2 }),
        plan({ topic: `${topic}-b`, replicationFactor: 1, minimumInSync: 2 }),
      ]),
    ).rejects.toMatchObject({
      refusals: [
        { topic, rule: 'too-few-brokers' },
        { topic: `${topic}-b`, rule: 'in-sync-above-replication' },
      ],
    });
  });

  it('may be applied by several processes at once', async () => {
    const changes = await Promise.all(Array.from({ length: 4 }, () => applyTopics(admin, [plan()])));
    expect(changes).toHaveLength(4);
    expect(await partitionsOf(admin, topic)).toHaveLength(2);
    expect((await applyTopics(admin, [plan()]))[0].action).toBe('unchanged');
  });

  describe('on three brokers', () => {
    let cluster: KafkaCluster;
    let three: Admin;
    beforeAll(async () => {
      cluster = await startKafkaCluster({ brokers: 3 });
      three = await connect(cluster.brokers);
    }, 120_000);
    afterAll(async () => {
      await three?.disconnect();
      await cluster?.close();
    }, 60_000);

    it('have three replicas, two of them in sync', async () => {
      await applyTopics(three, [plan()]);
      for (const { replicas } of await partitionsOf(three, topic)) expect(replicas).toHaveLength(3);
      expect(await settingsOf(three, topic)).toMatchObject({ 'min.insync.replicas': '2' });
    });

    it('get more replicas, spread over the brokers, and then more in sync', async () => {
      await applyTopics(three, [plan({ partitions: 3, replicationFactor: 1 })]);
      const before = await partitionsOf(three, topic);
      const [change] = await applyTopics(three, [plan({ replicationFactor: 2, minimumInSync: 2 })]);
      expect(change.details).toEqual(['replicas 1 → 2', 'min.insync.replicas 1 → 2']);
      const after = await partitionsOf(three, topic);
      for (const { partitionId, replicas, isr } of after) {
        expect(replicas).toHaveLength(2);
        expect(isr).toHaveLength(2);
        expect(replicas[0]).toBe(before.find((p) => p.partitionId === partitionId)?.replicas[0]);
      }
      const perBroker = [1, 2, 3].map((id) => after.filter(({ replicas }) => replicas.includes(id)).length);
      expect(perBroker).toEqual([2, 2, 2]);
      expect((await applyTopics(three, [plan({ replicationFactor: 2, minimumInSync: 2 })]))[0].action).toBe(
        'unchanged',
      );
    }, 60_000);

    it('never lose replicas, nor those in sync', async () => {
      await applyTopics(three, [plan({ replicationFactor: 3, minimumInSync: 2 })]);
      await expect(
        applyTopics(three, [plan({ replicationFactor: 2, minimumInSync: 1 })]),
      ).rejects.toMatchObject({
        refusals: [
          { topic, rule: 'replication-lowered' },
          { topic, rule: 'in-sync-lowered' },
        ],
      });
      for (const { replicas } of await partitionsOf(three, topic)) expect(replicas).toHaveLength(3);
    });
  });
});
