import { REPORT_SCHEMA } from '@undertone/protocol';
import { type Admin, type Kafka } from 'kafkajs';

import { Readers } from '../readers';
import {
  type FailureListener,
  type LogConsumer,
  type LogPositions,
  type LogRecord,
  type ReportLog,
  type Subscription,
} from '../report-log';
import { connectKafka, type KafkaConnection } from './kafka-connection';
import { kafkaErrorOf } from './kafka-error';
import { reachKafka } from './reach-kafka';
import { discardConsumed, lagBehind } from './topic-offsets';
import { TopicReader } from './topic-reader';
import { TopicWriter, type TopicWriterLimits } from './topic-writer';
import { REJECTED_TOPIC, REPORTS_TOPIC, requireGuarantees } from './topics';
import { within } from './within';

export interface KafkaReportLogSettings extends TopicWriterLimits {
  readonly connection: KafkaConnection;
  readonly onFailure: FailureListener;
  /** `REPORTS_TOPIC` unless given. */
  readonly topic?: string;
  /** Where rejected entries are told of; `REJECTED_TOPIC` unless given. */
  readonly rejectedTopic?: string;
  /** Entries in one batch at most; the reader's own unless given. */
  readonly maximumBatch?: number;
  /** Pause after a failed batch; [50, 10,000] unless given. */
  readonly retryMs?: readonly [first: number, longest: number];
  /** How long an entry stays after its consumer is past it, for others who read the topic; 7 days unless given. */
  readonly keepConsumedMs?: number;
  /** How long the brokers may take to come up; 30,000 unless given. */
  readonly connectWithinMs?: number;
  /** See `TopicReaderSettings`. */
  readonly sessionTimeoutMs?: number;
}

const REJECTION_SCHEMA = 'undertone.rejection.v1';
const DAY_MS = 24 * 60 * 60 * 1000;
const DISCONNECT_LIMIT_MS = 5_000;

/**
 * The log as a Kafka topic: several partitions, keys spread over them as Kafka's own clients do, and of the
 * subscriptions of one consumer name, in whatever processes, one at a time reads a partition.
 *
 * Others may produce to the topic as well, so nothing is known of an entry but what is checked.
 */
export class KafkaReportLog implements ReportLog {
  private readonly readers = new Readers<TopicReader>();

  /**
   * Waits for the brokers.
   * @throws KafkaError where they don't answer, refuse this client, or have no such topic, or one that may lose reports.
   */
  static async open(settings: KafkaReportLogSettings): Promise<KafkaReportLog> {
    const { connection, topic = REPORTS_TOPIC, rejectedTopic = REJECTED_TOPIC } = settings;
    const clusterId = await reachKafka(
      connection,
      [topic, rejectedTopic],
      settings.connectWithinMs ?? 30_000,
    );
    const kafka = connectKafka(connection);
    const admin = kafka.admin();
    const opened: { close(): Promise<void> }[] = [{ close: () => admin.disconnect() }];
    try {
      await admin.connect();
      await requireGuarantees(admin, topic);
      const { maximumWaiting, maximumWaitingBytes, maximumWaitMs, compression } = settings;
      const limits = { maximumWaiting, maximumWaitingBytes, maximumWaitMs, compression };
      const reports = await TopicWriter.open({ kafka, topic, schema: REPORT_SCHEMA, ...limits });
      opened.push(reports);
      const rejections = await TopicWriter.open({
        kafka,
        topic: rejectedTopic,
        schema: REJECTION_SCHEMA,
        ...limits,
      });
      return new KafkaReportLog(
        `kafka/${clusterId}/${topic}`,
        topic,
        settings,
        kafka,
        admin,
        reports,
        rejections,
      );
    } catch (error) {
      await Promise.all(opened.map((one) => one.close().catch(() => undefined)));
      throw kafkaErrorOf(error, topic);
    }
  }

  private constructor(
    /** Another cluster's offsets never compare. */
    readonly name: string,
    private readonly topic: string,
    private readonly settings: KafkaReportLogSettings,
    private readonly kafka: Kafka,
    private readonly admin: Admin,
    private readonly reports: TopicWriter,
    /** Writes to the topic where rejected entries are told of. */
    readonly rejections: TopicWriter,
  ) {}

  append(records: readonly LogRecord[]): Promise<void> {
    return this.reports.append(records);
  }

  subscribe(consumer: LogConsumer): Subscription {
    const { maximumBatch, retryMs, sessionTimeoutMs, onFailure, connection } = this.settings;
    const reader = new TopicReader({
      kafka: this.kafka,
      topic: this.topic,
      consumer,
      groupId: `undertone.${consumer.name}`,
      maximumBatch,
      retryMs,
      sessionTimeoutMs,
      onFailure,
      onWarning: connection.onWarning,
    });
    return this.readers.add(reader);
  }

  lag(consumer: LogPositions): Promise<number> {
    return lagBehind(this.admin, this.topic, consumer);
  }

  discard(consumer: LogPositions, limit: number): Promise<number> {
    const { keepConsumedMs = 7 * DAY_MS } = this.settings;
    return discardConsumed(this.admin, this.topic, consumer, limit, keepConsumedMs);
  }

  async close(): Promise<void> {
    await Promise.all([this.reports.close(), this.rejections.close(), this.readers.stop()]);
    // Kafkajs may wait for ever for answers that a lost connection owes it.
    await within(DISCONNECT_LIMIT_MS, this.admin.disconnect()).catch(() => undefined);
  }
}
