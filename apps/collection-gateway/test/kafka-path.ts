import { randomUUID } from 'node:crypto';

import { RejectedEntry } from '@undertone/protocol';
import { applyTopics, connectKafka, KafkaReportLog, type TopicPlan, topicPlans } from '@undertone/report-log';
import { type Admin, type Kafka, type KafkaMessage, Partitioners, type Producer } from 'kafkajs';
import { type Pool } from 'pg';

import { ReportWriter } from '../src/ingest/report-writer';
import { RejectionPublisher } from '../src/rejections/rejection-publisher';
import { type Crash, CrashPlan } from './crash-plan';
import { CrashingPool } from './crashing-pool';
import { type LoggedEntry } from './log-ledger';
import { processPool } from './postgres-path';
import { type PathUnderTest } from './report-path';
import { FOREIGN_MESSAGES } from './sample-entries';
import { cutConnections, emptyTables, readTables } from './tables';

/** How soon the broker may give the partitions of a killed gateway to another; its own default is 6 s. */
export const BROKER_SETTINGS = { 'group.min.session.timeout.ms': 1_000 };

const SETTINGS = {
  maximumBatch: 5,
  retryMs: [5, 100],
  maximumWaitMs: 3_000,
  sessionTimeoutMs: 2_000,
  keepConsumedMs: 0,
} as const;

const PUBLISHED_MS = 20_000;

/** The API key of kafkajs's request, in the bytes that it writes. */
const OFFSET_COMMIT = 8;

export interface KillableBroker {
  readonly brokers: readonly string[];
  /** As by `kill -9`. */
  kill(id: number): Promise<void>;
  /** On the same data. */
  start(id: number): Promise<void>;
}

/** Clients of a spec's own: nothing of the code under test but how to connect. */
export class KafkaObserver {
  private constructor(
    readonly cluster: KillableBroker,
    readonly kafka: Kafka,
    readonly admin: Admin,
    readonly producer: Producer,
  ) {}

  static async connect(cluster: KillableBroker): Promise<KafkaObserver> {
    const kafka = connectKafka({ brokers: cluster.brokers, clientId: 'observer' });
    const admin = kafka.admin();
    const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
    await Promise.all([admin.connect(), producer.connect()]);
    return new KafkaObserver(cluster, kafka, admin, producer);
  }

  async disconnect(): Promise<void> {
    await Promise.all([this.admin.disconnect(), this.producer.disconnect()]);
  }

  /** All that a topic holds now. */
  async read(topic: string): Promise<{ partition: number; message: KafkaMessage }[]> {
    const bounds = await this.admin.fetchTopicOffsets(topic);
    const unread = new Map(
      bounds.filter(({ low, high }) => low !== high).map(({ partition, high }) => [partition, BigInt(high)]),
    );
    const read: { partition: number; message: KafkaMessage }[] = [];
    if (unread.size === 0) return read;
    const consumer = this.kafka.consumer({ groupId: `observer.${randomUUID()}`, maxWaitTimeInMs: 50 });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await new Promise<void>((resolve, reject) => {
      consumer
        .run({
          eachMessage: async ({ partition, message }) => {
            const end = unread.get(partition);
            if (end === undefined) return;
            read.push({ partition, message });
            if (BigInt(message.offset) + 1n >= end) unread.delete(partition);
            if (unread.size === 0) resolve();
          },
        })
        .catch(reject);
    });
    await consumer.disconnect();
    return read;
  }
}

/** A topic of its own on a broker that is killed and started again, and tables in PostgreSQL. */
export async function kafkaPath(observer: KafkaObserver, url: string, own: Pool): Promise<PathUnderTest> {
  await emptyTables(own);
  const { cluster, admin, producer } = observer;
  const topic = `reports.${randomUUID()}`;
  const rejectedTopic = `${topic}.rejected`;
  await applyTopics(admin, plansFor(topic, rejectedTopic));
  const plan = new CrashPlan();
  return {
    plan,
    commitsOffsets: true,
    repeats: 'when broken',
    patienceMs: 60_000,
    foreign: FOREIGN_MESSAGES,
    open: async (process, onFailure) => {
      process.crashAtWrite((bytes) => offsetCommit(bytes, plan));
      const log = await KafkaReportLog.open({
        ...SETTINGS,
        connection: { brokers: cluster.brokers, clientId: 'gateway' },
        topic,
        rejectedTopic,
        onFailure,
      });
      const pool = processPool(url, process);
      const crashing = new CrashingPool(pool, plan, process).asPool();
      const publisher = new RejectionPublisher(crashing, {
        log: log.name,
        sink: log.rejections,
        everyMs: 300,
        onFailure: () => undefined,
      });
      publisher.start();
      return {
        log,
        sink: new ReportWriter(crashing, log.name, () => publisher.wake()),
        stop: () => publisher.stop(),
        close: () => pool.end(),
      };
    },
    smuggle: async ({ key, value, schema }) => {
      const headers = schema === undefined ? {} : { schema };
      const message = { key: asBuffer(key), value: asBuffer(value), headers };
      await producer.send({ topic, acks: -1, messages: [message] });
    },
    entries: async () => (await observer.read(topic)).map(loggedEntry),
    tables: () => readTables(own),
    breakLog: async () => {
      await cluster.kill(1);
      return () => cluster.start(1);
    },
    cutDatabase: () => cutConnections(own),
    told: async () => {
      await allPublished(own);
      const messages = await observer.read(rejectedTopic);
      return messages.map(({ message: { key, value } }) => {
        const { partition, offset, reason } = RejectedEntry.parse(JSON.parse(value!.toString()));
        expect(key!.toString()).toBe(`${topic}/${partition}/${offset}`);
        return `${partition}/${offset} ${reason}`;
      });
    },
  };
}

const plansFor = (topic: string, rejectedTopic: string): TopicPlan[] => {
  const [reports, rejected] = topicPlans();
  return [
    { ...reports, topic, newPartitions: 3 },
    { ...rejected, topic: rejectedTopic },
  ];
};

const offsetCommit = (bytes: Buffer, plan: CrashPlan): Crash | undefined =>
  bytes.length > 6 && bytes.readInt16BE(4) === OFFSET_COMMIT ? plan.reach('offset-commit') : undefined;

const asBuffer = (bytes: Uint8Array | null): Buffer | null => (bytes === null ? null : Buffer.from(bytes));

function loggedEntry({ partition, message }: { partition: number; message: KafkaMessage }): LoggedEntry {
  return {
    partition,
    offset: BigInt(message.offset),
    value: message.value ?? new Uint8Array(0),
    schema: message.headers?.schema?.toString(),
  };
}

async function allPublished(pool: Pool): Promise<void> {
  const end = Date.now() + PUBLISHED_MS;
  for (;;) {
    const { rows } = await pool.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM rejected_reports WHERE published_at IS NULL',
    );
    if (rows[0].count === 0) return;
    if (Date.now() > end) throw new Error(`${rows[0].count} rejected entries are not published`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
