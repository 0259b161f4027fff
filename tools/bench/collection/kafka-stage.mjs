import { Kafka, logLevel } from 'kafkajs';

import { load } from './packages.mjs';

/** One real broker, and topics as the reports' own, empty when asked for. */
export class KafkaStage {
  #admin;

  constructor(cluster, admin) {
    this.brokers = cluster.brokers;
    this.pid = cluster.nodes[0].pid;
    this.#admin = admin;
  }

  static async open(stops) {
    const { startCluster } = await import('../../kafka-local/cluster.mjs');
    const cluster = await startCluster({ brokers: 1 });
    stops.add(() => cluster.close());
    const kafka = new Kafka({ clientId: 'bench', brokers: cluster.brokers, logLevel: logLevel.NOTHING });
    const admin = kafka.admin();
    await admin.connect();
    stops.add(() => admin.disconnect());
    return new KafkaStage(cluster, admin);
  }

  /** The reports' topic and the rejected one, new and empty. */
  async emptyReports(partitions) {
    const { applyTopics, REPORTS_TOPIC, REJECTED_TOPIC } = load('platform', 'report-log');
    await this.#remove(REPORTS_TOPIC, REJECTED_TOPIC);
    await applyTopics(this.#admin, { partitions, replication: 1 });
    return REPORTS_TOPIC;
  }

  /** A topic of any name with the settings of the reports' topic, new and empty. */
  async emptyTwin(name, partitions) {
    await this.#remove(name);
    await this.#admin.createTopics({
      topics: [
        {
          topic: name,
          numPartitions: partitions,
          replicationFactor: 1,
          configEntries: [{ name: 'message.timestamp.type', value: 'LogAppendTime' }],
        },
      ],
    });
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

  async #remove(...names) {
    const existing = async () => (await this.#admin.listTopics()).filter((topic) => names.includes(topic));
    const topics = await existing();
    if (topics.length > 0) await this.#admin.deleteTopics({ topics });
    while ((await existing()).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
