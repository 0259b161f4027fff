import { setTimeout as sleep } from 'node:timers/promises';

import { REPORT_SCHEMA } from '@undertone/protocol';
import {
  type Assigner,
  type Batch,
  type Cluster,
  type Consumer,
  type EachBatchPayload,
  type Kafka,
  type KafkaMessage,
  KafkaJSNonRetriableError,
  PartitionAssigners,
} from 'kafkajs';

import { DEFAULT_RETRY_MS } from '../partition-reader';
import { type FailureListener, type LogConsumer, type LogEntry, type Subscription } from '../report-log';
import { readFetchAnswersFast } from './fetch-answers';
import { type PartitionBounds, PartitionFeed } from './partition-feed';
import { within } from './within';

export interface TopicReaderSettings {
  readonly kafka: Pick<Kafka, 'consumer'>;
  readonly topic: string;
  readonly consumer: LogConsumer;
  /** Readers of one group share the partitions. */
  readonly groupId: string;
  readonly onFailure: FailureListener;
  /** What went wrong beside the consumer's batches; nowhere unless given. */
  readonly onWarning?: (line: string) => void;
  /** Entries in one batch at most; 5,000 unless given. */
  readonly maximumBatch?: number;
  /** Handlers that run at the same time, of different partitions; 4 unless given. */
  readonly maximumHandlers?: number;
  /** Bytes that one fetch brings of a partition, but at least one batch of the producer; 2 MiB unless given. */
  readonly fetchBytes?: number;
  /** Pause after a failed batch; [50, 10,000] unless given. */
  readonly retryMs?: readonly [first: number, longest: number];
  /**
   * A reader that is silent for so long loses its partitions to the others; 10,000 unless given. One that comes back
   * after a crash, or after its brokers were away, waits for so long for its earlier self.
   */
  readonly sessionTimeoutMs?: number;
  /** How often the log is looked at for entries that were never fetched; 10,000 unless given. */
  readonly watchMs?: number;
}

const MEBIBYTE = 1024 * 1024;
/** How long fetching waits for a handler before it goes on with the other partitions alone. */
const HOLD_MS = 1_000;
/** How long partitions stay with a handler that runs when the group wants to share them anew. */
const DRAIN_MS = 30_000;
const REBALANCE_MS = 60_000;
/** The committed offset is for monitoring only, so it may be late. */
const COMMIT_PAUSE_MS = 200;
const COMMIT_RETRY_MS = 2_000;
const LAST_COMMIT_MS = 1_000;
/** A client whose broker is away can't leave its group; it isn't waited for longer. */
const LEAVE_MS = 3_000;
const CONNECT_PAUSE_MS = 1_000;
/** Partitions whose fetched entries may wait for room at a time. */
const CONCURRENT_PARTITIONS = 100;
const MAXIMUM_SCHEMA_BYTES = 200;

/**
 * Reads a topic for one consumer, together with the other readers of its group, on kafkajs.
 *
 * Where to read is the consumer's `positionOf` alone; the offset committed to Kafka follows it, for monitoring.
 * It's asked whenever a partition comes to this reader and after each failure. Partitions go to another reader
 * when no handler of this one runs, unless it runs for more than 30 s or the session is lost.
 */
export class TopicReader implements Subscription {
  readonly died: Promise<Error>;

  private readonly client: Consumer;
  private cluster: Cluster | undefined;
  private readonly handlers: Turns;
  /** The partitions that are this reader's. */
  private feeds = new Map<number, PartitionFeed>();
  /** Those whose partitions have gone, too, while they still have a handler running. */
  private readonly unended = new Set<PartitionFeed>();
  private readonly stopping = new AbortController();
  private stopped: Promise<void> | undefined;
  private leaving = false;
  private readonly starting: Promise<void>;
  private readonly watching: NodeJS.Timeout;
  private die: (error: Error) => void = () => undefined;

  private lastActive = Date.now();
  /** Partitions with entries that were there at an earlier look and weren't fetched since. */
  private starving = new Map<number, { readonly at: bigint; readonly since: number }>();
  private drainUntil: number | undefined;
  private heartbeat: EachBatchPayload['heartbeat'] = async () => undefined;
  private readonly uncommitted = new Map<number, bigint>();
  private committing: Promise<void> | undefined;

  constructor(private readonly settings: TopicReaderSettings) {
    const sessionTimeout = settings.sessionTimeoutMs ?? 10_000;
    this.died = new Promise((resolve) => (this.die = resolve));
    this.handlers = new Turns(settings.maximumHandlers ?? 4);
    readFetchAnswersFast();
    this.client = settings.kafka.consumer({
      groupId: settings.groupId,
      partitionAssigners: [(group) => this.watchful(group.cluster, PartitionAssigners.roundRobin(group))],
      sessionTimeout,
      rebalanceTimeout: REBALANCE_MS,
      heartbeatInterval: Math.min(1_000, Math.floor(sessionTimeout / 3)),
      maxBytesPerPartition: settings.fetchBytes ?? 2 * MEBIBYTE,
      maxWaitTimeInMs: 200,
      // A producer's transaction that stays open can't hold back what others have written.
      readUncommitted: true,
      allowAutoTopicCreation: false,
      retry: {
        initialRetryTime: 100,
        maxRetryTime: 1_000,
        multiplier: 2,
        factor: 0.2,
        retries: 45,
        restartOnFailure: async () => !this.stopping.signal.aborted,
      },
    });
    this.listen();
    this.starting = this.start();
    this.watching = setInterval(() => void this.look(), settings.watchMs ?? 10_000).unref();
  }

  lastActiveAt(): Date {
    const times = [this.lastActive];
    for (const { since } of this.starving.values()) times.push(since);
    for (const feed of this.unended) times.push(feed.busyWithoutStepSince() ?? this.lastActive);
    return new Date(Math.min(...times));
  }

  stop(): Promise<void> {
    return (this.stopped ??= this.shutDown());
  }

  private listen(): void {
    const { client } = this;
    const { events } = client;
    const active = (): void => {
      this.lastActive = Date.now();
    };
    client.on(events.FETCH, active);
    client.on(events.HEARTBEAT, active);
    client.on(events.REBALANCING, active);
    client.on(events.CONNECT, active);
    client.on(events.FETCH_START, () => {
      active();
      // kafkajs doesn't end a start or a restart that a stop fell into.
      if (this.leaving) void this.disconnect();
    });
    client.on(events.GROUP_JOIN, ({ payload }) => {
      active();
      this.assign(payload.memberAssignment[this.settings.topic] ?? []);
    });
    client.on(events.START_BATCH_PROCESS, ({ payload }) => {
      active();
      const { partition, batchSize, firstOffset, lastOffset, highWatermark } = payload;
      // kafkajs passes by what holds no entries, control records for one, and says so here alone.
      if (batchSize > 0 || firstOffset === null) return;
      this.feeds.get(partition)?.take({
        from: BigInt(firstOffset),
        entries: [],
        through: BigInt(lastOffset),
        end: BigInt(highWatermark),
      });
    });
    client.on(events.STOP, () => this.endFeeds());
    client.on(events.CRASH, ({ payload }) => {
      active();
      if (payload.restart) this.warn('stopped reading and starts again', payload.error);
      else if (!this.stopping.signal.aborted) this.die(payload.error);
    });
  }

  private async start(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      try {
        await this.client.connect();
        await this.client.subscribe({ topic: this.settings.topic, fromBeginning: true });
        await this.client.run({
          autoCommit: false,
          eachBatchAutoResolve: false,
          partitionsConsumedConcurrently: CONCURRENT_PARTITIONS,
          eachBatch: (payload) => this.takeIn(payload),
        });
        return;
      } catch (error) {
        if (!isPassing(error)) return this.die(error as Error);
        this.warn('can’t begin to read and tries again', error);
      }
      this.lastActive = Date.now();
      await this.rest(CONNECT_PAUSE_MS);
    }
  }

  /** Lets no partition go, nor the group share them anew, while a handler runs. */
  private watchful(cluster: Cluster, assigner: Assigner): Assigner {
    this.cluster = cluster;
    return {
      name: assigner.name,
      version: assigner.version,
      assign: (group) => assigner.assign(group),
      protocol: (subscription) => {
        this.beforeJoin();
        return assigner.protocol(subscription);
      },
    };
  }

  private beforeJoin(): void {
    this.endFeeds();
    this.drainUntil ??= Date.now() + DRAIN_MS;
    const busy = [...this.unended].some((feed) => feed.busyWithoutStepSince() !== undefined);
    if (busy && Date.now() < this.drainUntil) {
      // Keeps the session while the handlers end; what it answers, that a rebalance is due, is known.
      this.heartbeat().catch(() => undefined);
      throw new HandlersRunning();
    }
    if (this.stopping.signal.aborted) throw new KafkaJSNonRetriableError('this reader has been stopped');
  }

  private assign(partitions: readonly number[]): void {
    this.drainUntil = undefined;
    this.endFeeds();
    this.starving.clear();
    this.uncommitted.clear();
    if (this.stopping.signal.aborted) return;
    const earlier = [...this.unended];
    this.feeds = new Map(
      partitions.map((partition) => [
        partition,
        this.feed(
          partition,
          earlier.filter((feed) => feed.partition === partition),
        ),
      ]),
    );
    // kafkajs keeps a pause over rebalances.
    if (partitions.length > 0)
      this.client.resume([{ topic: this.settings.topic, partitions: [...partitions] }]);
  }

  private feed(partition: number, earlier: readonly PartitionFeed[]): PartitionFeed {
    const { topic, consumer, maximumBatch, retryMs, onFailure } = this.settings;
    const place = { topic, partitions: [partition] };
    const feed = new PartitionFeed({
      partition,
      consumer,
      maximumBatch: maximumBatch ?? 5_000,
      maximumHeldBytes: 8 * MEBIBYTE,
      retryMs: retryMs ?? DEFAULT_RETRY_MS,
      onFailure,
      after: Promise.all(earlier.map(({ ended }) => ended)),
      inTurn: (work) => this.handlers.take(work),
      bounds: () => this.bounds(partition),
      seek: (offset) => this.client.seek({ topic, partition, offset: offset.toString() }),
      pause: () => this.client.pause([place]),
      resume: () => this.client.resume([place]),
      dealtWith: (before) => {
        if (this.feeds.get(partition) === feed) this.commitSoon(partition, before);
      },
    });
    this.unended.add(feed);
    void feed.ended.then(() => this.unended.delete(feed));
    return feed;
  }

  private endFeeds(): void {
    for (const feed of this.feeds.values()) feed.end();
  }

  private async takeIn(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    const feed = this.feeds.get(batch.partition);
    if (feed === undefined) return;
    this.heartbeat = payload.heartbeat;
    if (!payload.isStale() && feed.take(fetched(batch))) payload.resolveOffset(batch.lastOffset());
    if (!(await feed.room(HOLD_MS))) feed.pause();
  }

  private async bounds(partition: number): Promise<PartitionBounds> {
    const [first, next] = await Promise.all(
      (['oldest', 'next'] as const).map((which) => this.offsets([partition], which)),
    );
    return { first: first.get(partition) ?? 0n, next: next.get(partition) ?? 0n };
  }

  private async offsets(
    partitions: readonly number[],
    which: 'oldest' | 'next',
  ): Promise<Map<number, bigint>> {
    const { topic } = this.settings;
    const cluster = this.cluster as Cluster;
    try {
      const [answer] = await cluster.fetchTopicsOffset([
        {
          topic,
          partitions: partitions.map((partition) => ({ partition })),
          fromBeginning: which === 'oldest',
        },
      ]);
      return new Map(answer.partitions.map(({ partition, offset }) => [partition, BigInt(offset)]));
    } catch (error) {
      // A leader that has moved is found again by this alone.
      await cluster.refreshMetadata().catch(() => undefined);
      throw error;
    }
  }

  /** Whether entries lie in the log that aren't being fetched, though everything seems to go on. */
  private async look(): Promise<void> {
    const idle = new Map<number, bigint>();
    for (const [partition, { idleAt }] of this.feeds) if (idleAt !== undefined) idle.set(partition, idleAt);
    const ends = await this.endsOf([...idle.keys()]);
    const earlier = this.starving;
    this.starving = new Map();
    for (const [partition, at] of idle) {
      if ((ends.get(partition) ?? 0n) <= at || this.feeds.get(partition)?.idleAt !== at) continue;
      const known = earlier.get(partition);
      this.starving.set(partition, known?.at === at ? known : { at, since: Date.now() });
    }
  }

  /** Of those partitions that can be asked now: that a broker is away is no fault of the reader. */
  private async endsOf(partitions: readonly number[]): Promise<Map<number, bigint>> {
    if (partitions.length === 0) return new Map();
    try {
      return await this.offsets(partitions, 'next');
    } catch {
      const answers = await Promise.allSettled(partitions.map((one) => this.offsets([one], 'next')));
      return new Map(
        answers.flatMap((answer) => (answer.status === 'fulfilled' ? [...answer.value.entries()] : [])),
      );
    }
  }

  private commitSoon(partition: number, offset: bigint): void {
    this.uncommitted.set(partition, offset);
    this.committing ??= this.commitAll().finally(() => (this.committing = undefined));
  }

  private async commitAll(): Promise<void> {
    const { topic } = this.settings;
    let failures = 0;
    while (this.uncommitted.size > 0) {
      const offsets = [...this.uncommitted];
      this.uncommitted.clear();
      try {
        await this.client.commitOffsets(
          offsets.map(([partition, offset]) => ({ topic, partition, offset: offset.toString() })),
        );
        failures = 0;
      } catch (error) {
        if (++failures === 1) this.warn('can’t commit its offsets, which monitoring shows', error);
        if (this.stopping.signal.aborted) return;
        for (const [partition, offset] of offsets) {
          if (this.feeds.has(partition) && !this.uncommitted.has(partition))
            this.uncommitted.set(partition, offset);
        }
      }
      await this.rest(failures === 0 ? COMMIT_PAUSE_MS : COMMIT_RETRY_MS);
    }
  }

  private async shutDown(): Promise<void> {
    this.stopping.abort();
    clearInterval(this.watching);
    this.endFeeds();
    try {
      this.client.pause([{ topic: this.settings.topic }]);
    } catch {
      // It isn't running: nothing is being fetched.
    }
    await Promise.all([...this.unended].map((feed) => feed.ended));
    await within(LAST_COMMIT_MS, this.committing ?? Promise.resolve()).catch(() => undefined);
    const left = this.starting.then(() => this.disconnect());
    await within(LEAVE_MS, left).catch(() => undefined);
  }

  private async disconnect(): Promise<void> {
    this.leaving = true;
    await this.client.disconnect().catch((error) => this.warn('could not leave its group in order', error));
  }

  private warn(what: string, error: unknown): void {
    this.settings.onWarning?.(
      `The reader of ${this.settings.topic} for ${this.settings.consumer.name} ${what}: ${(error as Error).message}`,
    );
  }

  private async rest(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.stopping.signal }).catch(() => undefined);
  }
}

/** kafkajs waits and tries to join again when it sees the type. */
class HandlersRunning extends Error {
  readonly type = 'REBALANCE_IN_PROGRESS';

  constructor() {
    super('handlers are still running');
  }
}

/** Lets so many run at a time, in the order in which they came. */
class Turns {
  private readonly waiting: (() => void)[] = [];

  constructor(private free: number) {}

  async take(work: () => Promise<void>): Promise<void> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      await work();
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.free++;
      else next();
    }
  }
}

/** Whether kafkajs thinks that another try may go well. */
function isPassing(error: unknown): boolean {
  const { name, retriable, cause } = error as { name: string; retriable?: boolean; cause?: unknown };
  if (name === 'KafkaJSNumberOfRetriesExceeded') return true;
  return cause === undefined || cause === error ? retriable === true : isPassing(cause);
}

const EMPTY = new Uint8Array(0);
const REPORT_SCHEMA_BYTES = Buffer.from(REPORT_SCHEMA);

function fetched(batch: Batch): Parameters<PartitionFeed['take']>[0] {
  // Not among kafkajs's types.
  const { fetchedOffset } = batch as Batch & { readonly fetchedOffset: string };
  return {
    from: BigInt(fetchedOffset),
    entries: toEntries(batch.messages),
    through: BigInt(batch.lastOffset()),
    end: BigInt(batch.highWatermark),
  };
}

function toEntries(messages: readonly KafkaMessage[]): LogEntry[] {
  const entries: LogEntry[] = [];
  let timestamp: string | undefined;
  let appendedAt = new Date(0);
  for (const message of messages) {
    // The broker stamps all messages of one batch alike.
    if (message.timestamp !== timestamp) {
      timestamp = message.timestamp;
      appendedAt = new Date(Number(timestamp));
    }
    entries.push({
      offset: BigInt(message.offset),
      value: message.value ?? EMPTY,
      schema: schemaOf(message),
      appendedAt,
    });
  }
  return entries;
}

/** Of a header that occurs several times, the last counts, as in Kafka's own clients. */
function schemaOf({ headers }: KafkaMessage): string | undefined {
  const header = headers?.schema;
  const schema = Array.isArray(header) ? header[header.length - 1] : header;
  if (schema === undefined || schema === null || typeof schema === 'string') return schema ?? undefined;
  return REPORT_SCHEMA_BYTES.equals(schema)
    ? REPORT_SCHEMA
    : schema.toString('utf8', 0, MAXIMUM_SCHEMA_BYTES);
}
