import { setTimeout as sleep } from 'node:timers/promises';

import { type Admin, ConfigResourceTypes, ConfigSource, type ITopicMetadata } from 'kafkajs';

import { KafkaError, kafkaErrorOf } from './kafka-error';

/** Reports on their way to the table: from gateways, and from back ends that write to the topic themselves. */
export const REPORTS_TOPIC = 'undertone.reports.v1';
/** What of them could never be stored, with reason and place. */
export const REJECTED_TOPIC = 'undertone.reports.rejected.v1';

export interface TopicPlan {
  readonly topic: string;
  /** Unset: as many as there are, `newPartitions` for a new topic. */
  readonly partitions?: number;
  readonly newPartitions: number;
  /** Unset: as it is; for a new topic 3, or as many as there are brokers. */
  readonly replicationFactor?: number;
  /** Replicas that must have an entry before it is acknowledged. Unset: as it is; for a new topic one less than there are. */
  readonly minimumInSync?: number;
  readonly settings: Readonly<Record<string, string>>;
}

export interface TopicChange {
  readonly topic: string;
  readonly action: 'created' | 'changed' | 'unchanged';
  /** What, in words: `retention.ms 604800000 → -1`. */
  readonly details: readonly string[];
}

export type TopicRefusal =
  | 'partitions-lowered'
  | 'replication-lowered'
  | 'in-sync-lowered'
  | 'too-few-brokers'
  | 'in-sync-above-replication';

/** A plan that can't be carried out, or would make a topic weaker. Nothing was changed. */
export class TopicsRefusedError extends Error {
  readonly code = 'topics-refused';

  constructor(readonly refusals: readonly { topic: string; rule: TopicRefusal; detail: string }[]) {
    super(
      `The topics were left as they are:\n${refusals.map(({ topic, detail }) => `  ${topic}: ${detail}`).join('\n')}`,
    );
    this.name = 'TopicsRefusedError';
  }
}

/** What is used of a kafkajs admin client. */
export type TopicsAdmin = Pick<
  Admin,
  | 'listTopics'
  | 'describeCluster'
  | 'fetchTopicMetadata'
  | 'describeConfigs'
  | 'createTopics'
  | 'createPartitions'
  | 'alterConfigs'
  | 'alterPartitionReassignments'
>;

const DAY_MS = 86_400_000;

/** Of both topics. */
const SETTINGS = {
  'cleanup.policy': 'delete',
  'retention.bytes': '-1',
  // The time of a device or a partner is not trusted.
  'message.timestamp.type': 'LogAppendTime',
  // One batch of a producer: many reports, of which one has 65 KiB at most.
  'max.message.bytes': `${2 * 1024 * 1024}`,
  // A codec that consumers don't have would stop them all; so the brokers unpack what comes compressed.
  'compression.type': 'uncompressed',
  'unclean.leader.election.enable': 'false',
  // Space comes free a segment at a time.
  'segment.bytes': `${128 * 1024 * 1024}`,
  // And a quiet topic's after a day: what is deleted shall be gone.
  'segment.ms': `${DAY_MS}`,
} as const;

/** Without these, what is acknowledged may go, or be judged by the clock of whoever wrote it. */
const GUARANTEES = {
  'cleanup.policy': 'delete',
  'retention.bytes': '-1',
  'retention.ms': '-1',
  'message.timestamp.type': 'LogAppendTime',
  'unclean.leader.election.enable': 'false',
} as const;

/**
 * What the platform needs. Reports are kept until they are ingested and swept, whatever their age, and rejections
 * for 30 days.
 *
 * @param wanted.partitions of the reports' topic; the consumers that can share the work are that many
 */
export function topicPlans(
  wanted: Pick<TopicPlan, 'partitions' | 'replicationFactor' | 'minimumInSync'> = {},
): readonly TopicPlan[] {
  const { partitions, ...replication } = wanted;
  return [
    {
      topic: REPORTS_TOPIC,
      partitions,
      newPartitions: 6,
      ...replication,
      settings: { ...SETTINGS, ...GUARANTEES },
    },
    {
      topic: REJECTED_TOPIC,
      newPartitions: 1,
      ...replication,
      settings: { ...SETTINGS, 'retention.ms': `${30 * DAY_MS}` },
    },
  ];
}

/**
 * Whether the topic of reports keeps what it acknowledges until it is read.
 *
 * @throws KafkaError `topic-unfit` with what differs
 */
export async function requireGuarantees(
  admin: Pick<TopicsAdmin, 'describeConfigs'>,
  topic: string,
): Promise<void> {
  const { effective } = await settingsOf(admin, topic);
  const faults = Object.entries(GUARANTEES).filter(([name, value]) => effective.get(name) !== value);
  if (faults.length === 0) return;
  const told = faults.map(([name, value]) => `${name} is ${effective.get(name)} and must be ${value}`);
  throw new KafkaError(
    'topic-unfit',
    `Kafka's topic "${topic}" would not keep what it acknowledges: ${told.join('; ')}. ` +
      'Run "undertone kafka topics apply" against these brokers.',
  );
}

/** What `applyTopics` would do. @throws TopicsRefusedError */
export async function previewTopics(admin: TopicsAdmin, plans: readonly TopicPlan[]): Promise<TopicChange[]> {
  return (await compare(admin, plans)).map(({ change }) => change);
}

/**
 * Creates what is missing and changes what differs; settings that no plan names stay. Applying a plan again changes
 * nothing. Neither partitions, replicas nor the replicas in sync are ever lowered.
 *
 * New replicas fill up in the background; where more of them must be in sync than are, that is waited for.
 *
 * @throws TopicsRefusedError before anything is changed
 */
export async function applyTopics(admin: TopicsAdmin, plans: readonly TopicPlan[]): Promise<TopicChange[]> {
  const changes: TopicChange[] = [];
  for (const { change, steps } of await compare(admin, plans)) {
    for (const step of steps) await step();
    changes.push(change);
  }
  return changes;
}

interface Comparison {
  readonly change: TopicChange;
  readonly steps: readonly (() => Promise<void>)[];
}

type Refusals = ConstructorParameters<typeof TopicsRefusedError>[0][number][];

async function compare(admin: TopicsAdmin, plans: readonly TopicPlan[]): Promise<Comparison[]> {
  const existing = new Set(await admin.listTopics());
  const brokers = (await admin.describeCluster()).brokers.map(({ nodeId }) => nodeId);
  const refusals: Refusals = [];
  const comparisons: Comparison[] = [];
  for (const plan of plans) {
    comparisons.push(
      existing.has(plan.topic)
        ? await compareWithTopic(admin, plan, brokers, refusals)
        : createTopic(admin, plan, brokers, refusals),
    );
  }
  if (refusals.length > 0) throw new TopicsRefusedError(refusals);
  return comparisons;
}

function createTopic(
  admin: TopicsAdmin,
  plan: TopicPlan,
  brokers: readonly number[],
  refusals: Refusals,
): Comparison {
  const { topic } = plan;
  const partitions = plan.partitions ?? plan.newPartitions;
  const replicas = plan.replicationFactor ?? Math.min(3, brokers.length);
  const inSync = plan.minimumInSync ?? Math.max(1, replicas - 1);
  refusals.push(...impossible(topic, replicas, inSync, brokers));
  const settings = { ...plan.settings, [MINIMUM_IN_SYNC]: `${inSync}` };
  const create = async (): Promise<void> => {
    const isNew = await admin.createTopics({
      // kafkajs's own wait gives up where a busy broker doesn't know the topic at once.
      waitForLeaders: false,
      topics: [
        {
          topic,
          numPartitions: partitions,
          replicationFactor: replicas,
          configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })),
        },
      ],
    });
    // Another process was faster, perhaps with another plan.
    if (isNew) await untilLed(admin, topic);
    else await applyTopics(admin, [plan]);
  };
  const details = [
    `${partitions} partitions`,
    `${replicas} replicas`,
    ...Object.entries(settings).map((s) => s.join(' ')),
  ];
  return { change: { topic, action: 'created', details }, steps: [create] };
}

async function compareWithTopic(
  admin: TopicsAdmin,
  plan: TopicPlan,
  brokers: readonly number[],
  refusals: Refusals,
): Promise<Comparison> {
  const { topic } = plan;
  const metadata = await metadataOf(admin, topic);
  const settings = await settingsOf(admin, topic);
  const partitions = metadata.partitions.length;
  const replicas = Math.min(...metadata.partitions.map((p) => p.replicas.length));
  const inSync = Number(settings.effective.get(MINIMUM_IN_SYNC));
  const wantedPartitions = plan.partitions ?? partitions;
  const wantedReplicas = plan.replicationFactor ?? replicas;
  const wantedInSync =
    plan.minimumInSync ?? (wantedReplicas > replicas ? Math.max(inSync, wantedReplicas - 1) : inSync);
  refusals.push(
    ...lowered(topic, 'partitions-lowered', 'partitions', partitions, wantedPartitions),
    ...lowered(topic, 'replication-lowered', 'replicas', replicas, wantedReplicas),
    ...lowered(topic, 'in-sync-lowered', MINIMUM_IN_SYNC, inSync, wantedInSync),
    ...impossible(topic, wantedReplicas, wantedInSync, brokers),
  );

  const details: string[] = [];
  const steps: (() => Promise<void>)[] = [];
  if (wantedPartitions > partitions) {
    details.push(`partitions ${partitions} → ${wantedPartitions}`);
    steps.push(async () => {
      await admin.createPartitions({ topicPartitions: [{ topic, count: wantedPartitions }] });
    });
  }
  if (wantedReplicas > replicas) {
    details.push(`replicas ${replicas} → ${wantedReplicas}`);
    steps.push(() => addReplicas(admin, topic, brokers, wantedReplicas));
  }
  if (wantedInSync > inSync) steps.push(() => untilInSync(admin, topic, wantedInSync));
  const wanted: Record<string, string> = { ...plan.settings, [MINIMUM_IN_SYNC]: `${wantedInSync}` };
  const differing = Object.entries(wanted).filter(([name, value]) => settings.effective.get(name) !== value);
  for (const [name, value] of differing) details.push(`${name} ${settings.effective.get(name)} → ${value}`);
  if (differing.length > 0) {
    const entries = new Map([...settings.ofTopic, ...differing]);
    steps.push(() => setSettings(admin, topic, entries));
  }
  return { change: { topic, action: details.length > 0 ? 'changed' : 'unchanged', details }, steps };
}

const MINIMUM_IN_SYNC = 'min.insync.replicas';

function lowered(topic: string, rule: TopicRefusal, what: string, is: number, wanted: number): Refusals {
  if (wanted >= is) return [];
  const why =
    rule === 'partitions-lowered'
      ? 'Kafka can’t take partitions away; make a topic of another version for that'
      : 'fewer would let acknowledged reports be lost; if that is meant, do it with Kafka’s own tools';
  return [{ topic, rule, detail: `has ${what} ${is}, and ${wanted} were asked for: ${why}` }];
}

function impossible(topic: string, replicas: number, inSync: number, brokers: readonly number[]): Refusals {
  const refusals: Refusals = [];
  if (replicas > brokers.length) {
    refusals.push({
      topic,
      rule: 'too-few-brokers',
      detail: `${replicas} replicas need as many brokers, and there are ${brokers.length}`,
    });
  }
  if (inSync > replicas) {
    refusals.push({
      topic,
      rule: 'in-sync-above-replication',
      detail: `${MINIMUM_IN_SYNC} ${inSync} with ${replicas} replicas would refuse every report; at most ${replicas} can be in sync`,
    });
  }
  return refusals;
}

const LEADERS_WAIT_MS = 30_000;

/** A new topic takes nothing until each of its partitions has a leader. */
async function untilLed(admin: TopicsAdmin, topic: string): Promise<void> {
  const end = Date.now() + LEADERS_WAIT_MS;
  for (;;) {
    try {
      const { partitions } = await metadataOf(admin, topic);
      if (partitions.length > 0 && partitions.every(({ leader }) => leader >= 0)) return;
    } catch (error) {
      if (kafkaErrorOf(error, topic).code !== 'topic-missing' || Date.now() > end) throw error;
    }
    if (Date.now() > end) {
      throw new Error(
        `${topic} was created, and not each of its partitions has a leader. Are all brokers up?`,
      );
    }
    await sleep(50);
  }
}

async function metadataOf(admin: TopicsAdmin, topic: string): Promise<ITopicMetadata> {
  return (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0];
}

/** The settings that hold, and those of them that were made for this topic. */
async function settingsOf(
  admin: Pick<TopicsAdmin, 'describeConfigs'>,
  topic: string,
): Promise<{ effective: ReadonlyMap<string, string>; ofTopic: ReadonlyMap<string, string> }> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }],
  });
  const entries = resources[0].configEntries;
  const asMap = (of: typeof entries): Map<string, string> =>
    new Map(of.map(({ configName, configValue }) => [configName, configValue]));
  return {
    effective: asMap(entries),
    ofTopic: asMap(entries.filter(({ configSource }) => configSource === ConfigSource.TOPIC_CONFIG)),
  };
}

/** kafkajs's request replaces all settings of the topic: those left out would go back to their defaults. */
async function setSettings(
  admin: TopicsAdmin,
  topic: string,
  settings: ReadonlyMap<string, string>,
): Promise<void> {
  await admin.alterConfigs({
    validateOnly: false,
    resources: [
      {
        type: ConfigResourceTypes.TOPIC,
        name: topic,
        configEntries: [...settings].map(([name, value]) => ({ name, value })),
      },
    ],
  });
}

/**
 * Each partition keeps its replicas, leader first, and gets those brokers in addition that have the fewest; of equals
 * the next after its leader, as the others' choices would otherwise leave one broker to spare.
 */
async function addReplicas(
  admin: TopicsAdmin,
  topic: string,
  brokers: readonly number[],
  count: number,
): Promise<void> {
  const { partitions } = await metadataOf(admin, topic);
  const held = new Map(brokers.map((broker) => [broker, 0]));
  for (const broker of partitions.flatMap((p) => p.replicas)) held.set(broker, (held.get(broker) ?? 0) + 1);
  const partitionAssignment = partitions.map(({ partitionId, replicas }) => {
    const assigned = [...replicas];
    while (assigned.length < count) {
      const leader = brokers.indexOf(assigned[0]);
      const [emptiest] = [...brokers.slice(leader + 1), ...brokers.slice(0, leader + 1)]
        .filter((broker) => !assigned.includes(broker))
        .sort((a, b) => (held.get(a) ?? 0) - (held.get(b) ?? 0));
      assigned.push(emptiest);
      held.set(emptiest, (held.get(emptiest) ?? 0) + 1);
    }
    return { partition: partitionId, replicas: assigned };
  });
  await admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment }] });
}

const IN_SYNC_WAIT_MS = 120_000;

/** Asking for more replicas in sync than are would refuse every report. */
async function untilInSync(admin: TopicsAdmin, topic: string, count: number): Promise<void> {
  const end = Date.now() + IN_SYNC_WAIT_MS;
  for (;;) {
    const { partitions } = await metadataOf(admin, topic);
    const fewest = Math.min(...partitions.map((p) => p.isr.length));
    if (fewest >= count) return;
    if (Date.now() > end) {
      throw new Error(
        `${topic} has a partition with ${fewest} replicas in sync, and ${MINIMUM_IN_SYNC} shall be ${count}: the new ` +
          'replicas are still filling up. Apply the topics again later.',
      );
    }
    await sleep(500);
  }
}
