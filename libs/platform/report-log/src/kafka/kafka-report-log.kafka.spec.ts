import { randomBytes } from 'node:crypto';
import { connect, createServer } from 'node:net';

import { type Admin, type Kafka } from 'kafkajs';

import { describeWithKafka, testBrokers } from '../../testing/kafka-cluster';
import { createRawTopic, type RawMessage, readRawTopic } from '../../testing/raw-topic';
import { describeReportLog, record, RecordingConsumer } from '../../testing/report-log-contract';
import { connectKafka } from './kafka-connection';
import { KafkaReportLog, type KafkaReportLogSettings } from './kafka-report-log';

const connection = () => ({ brokers: testBrokers(), clientId: 'report-log-spec' });

const settings = (topic: string, given: Partial<KafkaReportLogSettings> = {}): KafkaReportLogSettings => ({
  connection: connection(),
  topic,
  rejectedTopic: topic,
  onFailure: () => undefined,
  keepConsumedMs: 0,
  sessionTimeoutMs: 6_000,
  ...given,
});

describeWithKafka('Kafka', () => {
  let kafka: Kafka;
  let admin: Admin;

  const createTopic = (partitions: number): Promise<string> => createRawTopic(admin, { partitions });

  beforeAll(async () => {
    kafka = connectKafka(connection());
    admin = kafka.admin();
    await admin.connect();
  });
  afterAll(() => admin.disconnect());

  describeReportLog(
    'Kafka',
    async () => {
      const topic = await createTopic(3);
      return {
        open: (wanted) => KafkaReportLog.open(settings(topic, wanted)),
        dispose: () => admin.deleteTopics({ topics: [topic] }),
      };
    },
    { withinMs: 20_000, testMs: 60_000 },
  );

  describe('report log', () => {
    let logs: KafkaReportLog[];
    const open = async (
      topic: string,
      given: Partial<KafkaReportLogSettings> = {},
    ): Promise<KafkaReportLog> => {
      const log = await KafkaReportLog.open(settings(topic, given));
      logs.push(log);
      return log;
    };
    beforeEach(() => {
      logs = [];
    });
    afterEach(() => Promise.all(logs.map((log) => log.close())));

    it('names cluster and topic, as offsets of another never compare', async () => {
      const topic = await createTopic(1);
      const { clusterId } = await admin.describeCluster();
      const log = await open(topic);
      expect(log.name).toBe(`kafka/${clusterId}/${topic}`);
      await admin.deleteTopics({ topics: [topic] });
    });

    it('refuses a topic that would lose entries by age, or take the time of whoever writes', async () => {
      const topic = await createRawTopic(admin, { partitions: 1, settings: { 'retention.ms': '1000' } });
      await expect(open(topic)).rejects.toMatchObject({
        code: 'topic-unfit',
        message: expect.stringMatching(
          /retention\.ms is 1000 and must be -1; message\.timestamp\.type is CreateTime and must be LogAppendTime/,
        ),
      });
      await admin.deleteTopics({ topics: [topic] });
    });

    it('writes what it was given, marked with the schema, and in every partition', async () => {
      const [topic, rejectedTopic] = [await createTopic(4), await createTopic(1)];
      const log = await open(topic, { rejectedTopic });
      const records = Array.from({ length: 200 }, () => ({ key: randomBytes(16), value: randomBytes(40) }));
      await log.append(records);
      await log.rejections.append([record('refused')]);
      const offsets = await admin.fetchTopicOffsets(topic);
      expect(offsets.every(({ high }) => Number(high) > 0)).toBe(true);
      const read = await readRawTopic(kafka, topic);
      expect(read).toHaveLength(200);
      expect(new Set(read.map(inWords))).toEqual(
        new Set(records.map((wanted) => inWords({ ...wanted, schema: 'undertone.report.v1' }))),
      );
      const [told] = await readRawTopic(kafka, rejectedTopic);
      expect(told.schema).toBe('undertone.rejection.v1');
      await admin.deleteTopics({ topics: [topic, rejectedTopic] });
    });

    it('keeps consumed entries for others as long as it is asked to', async () => {
      const topic = await createTopic(1);
      const log = await open(topic, { keepConsumedMs: 60_000 });
      await log.append([record('a')]);
      const consumer = new RecordingConsumer();
      consumer.positions.set(0, 0n);
      expect(await log.discard(consumer, 10)).toBe(0);
      await admin.deleteTopics({ topics: [topic] });
    });

    it('says which topic is missing and what to run', async () => {
      await expect(open('no.such.topic')).rejects.toMatchObject({
        code: 'topic-missing',
        message: expect.stringMatching(/"no\.such\.topic".*undertone kafka topics apply/),
      });
    });

    it('waits for brokers that are late, and gives up on those that never come', async () => {
      const topic = await createTopic(1);
      const port = await freePort();
      const late = { connection: { ...connection(), brokers: [`127.0.0.1:${port}`] } };
      await expect(open(topic, { ...late, connectWithinMs: 500 })).rejects.toMatchObject({
        code: 'brokers-unreachable',
        message: expect.stringContaining('ECONNREFUSED'),
      });
      const opening = open(topic, { ...late, connectWithinMs: 20_000 });
      await new Promise((resolve) => setTimeout(resolve, 600));
      const [host, target] = testBrokers()[0].split(':');
      const door = createServer((client) => {
        const broker = connect(Number(target), host);
        client.pipe(broker).pipe(client);
        for (const end of [client, broker]) end.on('error', () => undefined);
      }).listen(port, '127.0.0.1');
      await opening;
      door.close();
      await admin.deleteTopics({ topics: [topic] });
    });

    it('says that it is refused where the brokers speak no TLS or ask for no login', async () => {
      await expect(
        open('any', {
          connection: { ...connection(), sasl: { mechanism: 'plain', username: 'a', password: 'secret' } },
          connectWithinMs: 5_000,
        }),
      ).rejects.toMatchObject({ code: 'refused', message: expect.not.stringContaining('secret') });
    });
  });
});

const inWords = ({ key, value, schema }: Pick<RawMessage, 'key' | 'value' | 'schema'>): string =>
  `${key.toString('hex')} ${value.toString('hex')} ${schema}`;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
