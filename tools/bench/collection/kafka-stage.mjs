import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { Kafka, logLevel } from 'kafkajs';

import { isLackOfMachine, kafkaAvailable, startCluster } from '../../kafka-local/cluster.mjs';
import { load } from './packages.mjs';

const WARM_UP = { producers: 8, sends: 2_500, value: Buffer.alloc(200) };

/** Undefined, with a line that says why, on a machine that can't run a broker. */
export async function openKafkaStage(stops, log) {
  const leaveOut = (why) => log(`what needs Kafka is left out: ${why}`);
  const { available, why } = kafkaAvailable();
  if (!available) return leaveOut(why);
  try {
    return await KafkaStage.open(stops);
  } catch (error) {
    if (!isLackOfMachine(error)) throw error;
    return leaveOut(error.message);
  }
}

/** One real broker, and topics as the reports' own, empty when asked for. */
export class KafkaStage {
  #admin;
  #folder;

  constructor(cluster, admin, folder) {
    this.#folder = folder;
    this.brokers = cluster.brokers;
    this.pid = cluster.nodes[0].pid;
    this.#admin = admin;
  }

  static async open(stops) {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'undertone-bench-kafka-'));
    stops.add(() => rmSync(folder, { recursive: true, force: true }));
    const cluster = await startCluster({ brokers: 1, folder, tunedFor: 'throughput' });
    stops.add(() => cluster.close());
    const kafka = new Kafka({ clientId: 'bench', brokers: cluster.brokers, logLevel: logLevel.NOTHING });
    const admin = kafka.admin();
    await admin.connect();
    stops.add(() => admin.disconnect());
    const stage = new KafkaStage(cluster, admin, folder);
    await stage.#warmUp(kafka);
    return stage;
  }

  /**
   * A broker's first thousands of requests cost it many times what later ones do, until the Java machine has compiled what it runs:
   * time that would be taken from what is measured beside it.
   */
  async #warmUp(kafka) {
    const topic = await this.emptyTwin('bench-warm-up', WARM_UP.producers);
    await Promise.all(
      Array.from({ length: WARM_UP.producers }, async (_, partition) => {
        const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
        await producer.connect();
        for (let i = 0; i < WARM_UP.sends; i++) {
          await producer.send({ topic, acks: -1, messages: [{ value: WARM_UP.value, partition }] });
        }
        await producer.disconnect();
      }),
    );
    await this.#remove(topic);
  }

  /** The reports' topic and the rejected one, new and empty. */
  async emptyReports(partitions) {
    const { applyTopics, topicPlans } = load('platform', 'report-log');
    const plans = topicPlans({ partitions });
    await this.#remove(...plans.map(({ topic }) => topic));
    await applyTopics(this.#admin, plans);
    return plans[0].topic;
  }

  /** A topic of any name with the settings of the reports' topic, new and empty. */
  async emptyTwin(name, partitions) {
    const { applyTopics, topicPlans } = load('platform', 'report-log');
    const [reports] = topicPlans({ partitions });
    await this.#remove(name);
    await applyTopics(this.#admin, [{ ...reports, topic: name }]);
    return name;
  }

  /** Resolves when the group has as many members as wanted and is at rest. */
  async groupAtRest(prefix, members) {
    for (;;) {
      const { groups } = await this.#admin.listGroups();
      const ids = groups.map(({ groupId }) => groupId).filter((id) => id.startsWith(prefix));
      const { groups: described } = ids.length === 0 ? { groups: [] } : await this.#admin.describeGroups(ids);
      if (described.some((group) => group.state === 'Stable' && group.members.length === members)) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Bytes that the messages of a topic take on the disk. */
  bytesOf(topic) {
    const isOfTopic = (file) => path.basename(path.dirname(file)).replace(/-\d+$/, '') === topic;
    return readdirSync(this.#folder, { recursive: true })
      .filter((file) => file.endsWith('.log') && isOfTopic(file))
      .reduce((sum, file) => sum + statSync(path.join(this.#folder, file)).size, 0);
  }

  async #remove(...names) {
    const existing = async () => (await this.#admin.listTopics()).filter((topic) => names.includes(topic));
    const topics = await existing();
    if (topics.length > 0) await this.#admin.deleteTopics({ topics });
    while ((await existing()).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
