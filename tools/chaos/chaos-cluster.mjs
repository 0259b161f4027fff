import { randomUUID } from 'node:crypto';

import { Kafka, logLevel } from 'kafkajs';

import { load } from '../bench/collection/packages.mjs';
import { kafkaAvailable, startCluster } from '../kafka-local/cluster.mjs';

/** A cluster with the reports' topics, seen from outside: with a client of its own that shares no code with the gateway's. */
export class ChaosCluster {
  #cluster;
  #kafka;
  #admin;

  constructor(cluster, kafka, admin) {
    this.#cluster = cluster;
    this.#kafka = kafka;
    this.#admin = admin;
    this.brokers = cluster.brokers;
    this.size = cluster.nodes.length;
  }

  static async start(stops, brokers) {
    const { available, why } = kafkaAvailable();
    if (!available) throw new Error(`this scenario needs Kafka: ${why}`);
    const cluster = await startCluster({ brokers });
    stops.add(() => cluster.close());
    const kafka = new Kafka({
      clientId: 'chaos',
      brokers: cluster.brokers,
      logLevel: logLevel.NOTHING,
      connectionTimeout: 1_000,
      requestTimeout: 5_000,
      retry: { retries: 30, initialRetryTime: 100, maxRetryTime: 1_000 },
    });
    const admin = kafka.admin();
    await admin.connect();
    stops.add(() => admin.disconnect());
    const { applyTopics, topicPlans, REPORTS_TOPIC, REJECTED_TOPIC } = load('platform', 'report-log');
    await applyTopics(admin, topicPlans());
    const chaos = new ChaosCluster(cluster, kafka, admin);
    chaos.reports = REPORTS_TOPIC;
    chaos.rejected = REJECTED_TOPIC;
    return chaos;
  }

  producer() {
    return this.#kafka.producer({ maxInFlightRequests: 1, idempotent: true });
  }

  /** SIGKILL. */
  kill(id) {
    return this.#cluster.kill(id);
  }

  /** SIGTERM. */
  stop(id) {
    return this.#cluster.stop(id);
  }

  start(id) {
    return this.#cluster.start(id);
  }

  get ids() {
    return this.#cluster.nodes.map(({ id }) => id);
  }

  async leaderOf(topic, partition) {
    const { topics } = await this.#admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0].partitions.find(({ partitionId }) => partitionId === partition).leader;
  }

  /** True when every replica of the topic is in sync. */
  async isInSync(topic) {
    const { topics } = await this.#admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0].partitions.every(({ isr, replicas }) => isr.length === replicas.length);
  }

  /** Messages of the reports' topic that the ingest is not past. */
  async lag(pool) {
    const ends = await this.ends(this.reports);
    const { rows } = await pool.query(
      `SELECT partition, log_offset FROM ingest_positions WHERE consumer LIKE 'ingest/kafka/%'`,
    );
    const past = new Map(rows.map(({ partition, log_offset: offset }) => [partition, BigInt(offset)]));
    return [...ends].reduce((sum, [partition, end]) => {
      const waiting = end - 1n - (past.get(partition) ?? -1n);
      return sum + (waiting > 0n ? Number(waiting) : 0);
    }, 0);
  }

  /** The offset after the last message, by partition. */
  async ends(topic) {
    const offsets = await this.#admin.fetchTopicOffsets(topic);
    return new Map(offsets.map(({ partition, high }) => [partition, BigInt(high)]));
  }

  /** Every message of a topic, from its beginning to what is its end now. */
  async read(topic) {
    const ends = await this.ends(topic);
    const left = new Set([...ends].filter(([, end]) => end > 0n).map(([partition]) => partition));
    const messages = [];
    if (left.size === 0) return messages;
    const consumer = this.#kafka.consumer({ groupId: `chaos-${randomUUID()}`, maxWaitTimeInMs: 200 });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await new Promise((resolve) => {
      void consumer.run({
        autoCommit: false,
        eachBatch: async ({ batch }) => {
          for (const message of batch.messages) messages.push({ partition: batch.partition, ...message });
          if (BigInt(batch.lastOffset()) + 1n >= ends.get(batch.partition)) left.delete(batch.partition);
          if (left.size === 0) resolve();
        },
      });
    });
    await consumer.disconnect();
    return messages;
  }
}
