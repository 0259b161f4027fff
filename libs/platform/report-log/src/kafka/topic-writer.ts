import { setTimeout as sleep } from 'node:timers/promises';

import { type CompressionTypes, type Kafka, type Message } from 'kafkajs';

import { closedError, fullError } from '../group-commit';
import { type LogRecord, ReportLogError } from '../report-log';
import { kafkaErrorOf } from './kafka-error';
import { partitionOfKey } from './partition-of-key';
import { type BatchProducer, ProducerSuccession } from './producer-succession';

export interface TopicWriterLimits {
  /** Records that may wait, those under way included, over all partitions; 50,000 unless given. */
  readonly maximumWaiting?: number;
  /** Their bytes; 64 MiB unless given. */
  readonly maximumWaitingBytes?: number;
  /** An append that isn't acknowledged within this time is refused, under way or not; 10,000 unless given. */
  readonly maximumWaitMs?: number;
  /** None unless given. */
  readonly compression?: CompressionTypes;
}

export interface TopicWriterSettings extends TopicWriterLimits {
  readonly kafka: Kafka;
  readonly topic: string;
  /** Said of each record in its header `schema`. */
  readonly schema: string;
}

/** How the writer reaches the topic. */
export interface TopicAccess extends TopicWriterLimits {
  readonly topic: string;
  readonly schema: string;
  readonly partitions: number;
  /** Asked from time to time, as a topic may be given more. */
  readonly countPartitions: () => Promise<number>;
  readonly countEveryMs?: number;
  readonly createProducer: () => BatchProducer;
  readonly sendLimitMs?: number;
  /** Before a third try and the ones after it: doubles from the first to the second, less up to a half by chance. */
  readonly pauseMs?: readonly [first: number, longest: number];
}

interface Append {
  readonly until: number;
  /** Not acknowledged yet. */
  portions: number;
  answered: boolean;
  resolve(): void;
  reject(error: unknown): void;
}

/** Records of one append in one partition. */
interface Portion {
  readonly append: Append;
  readonly messages: Message[];
  bytes: number;
}

interface Lane {
  readonly partition: number;
  readonly queue: Portion[];
  draining: boolean;
}

const MEBIBYTE = 1024 * 1024;
const GROUP_BYTES = MEBIBYTE / 2;
/** Kafkajs's work grows with the square of it; what is gained by sharing a request levels off before. */
const GROUP_RECORDS = 1_000;
/** A send costs the client as much as more than ten messages do. Where sends follow each other, one of fewer waits for company. */
const SMALL_GROUP = 12;
const GATHER_MS = 1;
/** Of a message beside key and value: header, lengths. */
const MESSAGE_BYTES = 64;
const COUNT_EVERY_MS = 60_000;
const SEND_LIMIT_MS = 60_000;
/** Between two looks for appends that have waited too long. */
const LOOK_EVERY_MS = 50;
const PAUSE_MS = [100, 1_000] as const;
/** Of a topic that was just made, some brokers know a little later than others. */
const MISSING_FOR_MS = 2_000;
const MISSING_PAUSE_MS = 50;

/**
 * Writes to one topic such that what is acknowledged is in it. Kafkajs alone doesn't give that: it can lose
 * acknowledged messages where a send spans partitions, where two sends to one partition run side by side, and where
 * a producer is used again after a send that failed. So the partition of a record is chosen here, by its key and
 * once; a send holds one partition; one send a partition is under way, and what is appended meanwhile gathers for the
 * next; and no producer outlives its first failure. A send that failed goes out again while one of its appends waits.
 *
 * Records of one key keep their order, apart from repeats.
 */
export class TopicWriter {
  private readonly producers: ProducerSuccession;
  private readonly headers: { readonly schema: Buffer };
  private readonly lanes: Lane[] = [];
  /** In the order of their deadlines. */
  private readonly unanswered = new Set<Append>();
  private readonly maximumWaitMs: number;
  private readonly counting: NodeJS.Timeout;
  private partitions: number;
  private groupBytes = GROUP_BYTES;
  private waiting = 0;
  private waitingBytes = 0;
  private look: NodeJS.Timeout | undefined;
  private failure: unknown;
  private closing: Promise<void> | undefined;
  private allAnswered = (): void => undefined;

  /** Fails with `KafkaError` where the topic can't be reached. */
  static async open({ kafka, topic, schema, ...limits }: TopicWriterSettings): Promise<TopicWriter> {
    const countPartitions = (): Promise<number> => partitionsOf(kafka, topic);
    return new TopicWriter({
      ...limits,
      topic,
      schema,
      partitions: await countPartitions(),
      countPartitions,
      createProducer: () =>
        kafka.producer({
          idempotent: true,
          maxInFlightRequests: 1,
          allowAutoTopicCreation: false,
          createPartitioner: () => partitionAsChosen,
        }),
    });
  }

  constructor(private readonly access: TopicAccess) {
    this.partitions = access.partitions;
    this.headers = { schema: Buffer.from(access.schema) };
    this.maximumWaitMs = access.maximumWaitMs ?? 10_000;
    this.producers = new ProducerSuccession({
      topic: access.topic,
      compression: access.compression,
      create: access.createProducer,
      sendLimitMs: access.sendLimitMs ?? SEND_LIMIT_MS,
    });
    this.counting = setInterval(() => void this.countPartitions(), access.countEveryMs ?? COUNT_EVERY_MS);
    this.counting.unref();
  }

  /**
   * Resolves when every record is in the topic. Rejects with `ReportLogError`; some records may then be in it all the
   * same. The bytes must stay as they are until then.
   */
  append(records: readonly LogRecord[]): Promise<void> {
    if (this.closing) return Promise.reject(closedError());
    if (records.length === 0) return Promise.resolve();
    let bytes = 0;
    for (const { key, value } of records) bytes += sizeOf(key, value);
    const { maximumWaiting = 50_000, maximumWaitingBytes = 64 * MEBIBYTE } = this.access;
    const full =
      this.waiting + records.length > maximumWaiting || this.waitingBytes + bytes > maximumWaitingBytes;
    // An append larger than the whole bound still goes through when nothing waits: it could never pass otherwise.
    if (full && this.waiting > 0) return Promise.reject(fullError(this.waiting));
    this.waiting += records.length;
    this.waitingBytes += bytes;
    return new Promise((resolve, reject) => {
      const until = performance.now() + this.maximumWaitMs;
      const append: Append = { until, portions: 0, answered: false, resolve, reject };
      this.unanswered.add(append);
      this.look ??= this.lookIn(this.maximumWaitMs);
      this.enqueue(append, records);
    });
  }

  /** Refuses further appends, and resolves when those accepted have been answered and the connections are closed. */
  close(): Promise<void> {
    return (this.closing ??= this.end());
  }

  private async end(): Promise<void> {
    clearInterval(this.counting);
    if (this.unanswered.size > 0) await new Promise<void>((resolve) => (this.allAnswered = resolve));
    clearTimeout(this.look);
    await this.producers.close();
  }

  private enqueue(append: Append, records: readonly LogRecord[]): void {
    const { headers, partitions, groupBytes } = this;
    const filling: Portion[] = [];
    for (const { key, value } of records) {
      const partition = partitionOfKey(key, partitions);
      const bytes = sizeOf(key, value);
      let portion = filling[partition];
      if (
        portion === undefined ||
        portion.bytes + bytes > groupBytes ||
        portion.messages.length === GROUP_RECORDS
      ) {
        portion = filling[partition] = { append, messages: [], bytes: 0 };
        append.portions++;
        this.laneOf(partition).queue.push(portion);
      }
      portion.messages.push({ key: asBuffer(key), value: asBuffer(value), partition, headers });
      portion.bytes += bytes;
    }
  }

  private laneOf(partition: number): Lane {
    const lane = (this.lanes[partition] ??= { partition, queue: [], draining: false });
    if (!lane.draining) {
      lane.draining = true;
      void this.drain(lane);
    }
    return lane;
  }

  private async drain(lane: Lane): Promise<void> {
    // Lets the appends of one turn of the event loop share the first send.
    await Promise.resolve();
    while (lane.queue.length > 0) {
      await this.deliver(lane, this.nextGroup(lane));
      if (isSmall(lane.queue)) await sleep(GATHER_MS);
    }
    lane.draining = false;
  }

  private nextGroup({ queue }: Lane): Portion[] {
    let count = 0;
    let records = 0;
    let bytes = 0;
    for (const portion of queue) {
      records += portion.messages.length;
      bytes += portion.bytes;
      if (count > 0 && (records > GROUP_RECORDS || bytes > this.groupBytes)) break;
      count++;
    }
    return queue.splice(0, count);
  }

  /** Sends until the group is in the log or nobody waits for it. */
  private async deliver(lane: Lane, group: Portion[]): Promise<void> {
    for (let attempt = 1; group.length > 0; attempt++) {
      try {
        await this.producers.send(lane.partition, messagesOf(group));
        this.failure = undefined;
        for (const portion of group) this.acknowledge(portion);
        return;
      } catch (error) {
        this.failure = error;
        if (isTooLarge(error)) {
          this.cutSmaller(lane, group, error);
          return;
        }
      }
      if (attempt > 1) await this.pause(attempt - 2);
      for (const portion of group) if (portion.append.answered) this.release(portion);
      group = group.filter((portion) => !portion.append.answered);
    }
  }

  private async pause(earlier: number): Promise<void> {
    const [first, longest] = this.access.pauseMs ?? PAUSE_MS;
    await sleep(Math.min(first * 2 ** earlier, longest) * (0.5 + Math.random() / 2));
  }

  /** The topic takes less than was thought: the group goes back, to be sent in smaller ones. */
  private cutSmaller({ queue }: Lane, group: Portion[], error: unknown): void {
    const bytes = group.reduce((sum, portion) => sum + portion.bytes, 0);
    if (group.length > 1 || group[0].messages.length > 1) {
      this.groupBytes = Math.max(MESSAGE_BYTES, Math.min(this.groupBytes, Math.ceil(bytes / 2)));
      queue.unshift(
        ...group.flatMap((portion) => (portion.messages.length > 1 ? halvesOf(portion) : portion)),
      );
    } else {
      this.release(group[0]);
      this.refuse(group[0].append, unavailable(`takes no record of ${bytes} bytes`, error));
    }
  }

  private acknowledge(portion: Portion): void {
    this.release(portion);
    const { append } = portion;
    if (--append.portions === 0 && !append.answered) {
      this.answer(append);
      append.resolve();
    }
  }

  private refuse(append: Append, error: ReportLogError): void {
    if (append.answered) return;
    this.answer(append);
    append.reject(error);
  }

  private answer(append: Append): void {
    append.answered = true;
    this.unanswered.delete(append);
    if (this.unanswered.size === 0) this.allAnswered();
  }

  /** Frees what the portion took of the bounds. */
  private release({ messages, bytes }: Portion): void {
    this.waiting -= messages.length;
    this.waitingBytes -= bytes;
  }

  private lookIn(ms: number): NodeJS.Timeout {
    return setTimeout(
      () => this.refuseLate(),
      Math.max(ms, Math.min(LOOK_EVERY_MS, this.maximumWaitMs)),
    ).unref();
  }

  private refuseLate(): void {
    this.look = undefined;
    const now = performance.now();
    for (const append of this.unanswered) {
      if (append.until > now) {
        this.look = this.lookIn(append.until - now);
        break;
      }
      this.refuse(append, unavailable(`did not take the records in ${this.maximumWaitMs} ms`, this.failure));
    }
    for (const lane of this.lanes) if (lane) this.dropAnswered(lane.queue);
  }

  /** Appends wait equally long: those that waited too long are at the front of each queue. */
  private dropAnswered(queue: Portion[]): void {
    let count = 0;
    while (count < queue.length && queue[count].append.answered) this.release(queue[count++]);
    queue.splice(0, count);
  }

  private async countPartitions(): Promise<void> {
    // While the brokers are away the count stays as it was.
    const partitions = await this.access.countPartitions().catch(() => 0);
    if (partitions > 0) this.partitions = partitions;
  }
}

async function partitionsOf(kafka: Kafka, topic: string): Promise<number> {
  const admin = kafka.admin();
  const until = performance.now() + MISSING_FOR_MS;
  try {
    await admin.connect();
    for (;;) {
      try {
        const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
        return topics[0].partitions.length;
      } catch (error) {
        const told = kafkaErrorOf(error, topic);
        if (told.code !== 'topic-missing' || performance.now() > until) throw told;
        await sleep(MISSING_PAUSE_MS);
      }
    }
  } catch (error) {
    throw kafkaErrorOf(error, topic);
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}

const partitionAsChosen = ({ message }: { readonly message: Message }): number => message.partition as number;

/** Kafkajs writes whatever isn't a Buffer as text. */
const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function isSmall(queue: readonly Portion[]): boolean {
  let records = 0;
  for (const { messages } of queue) if ((records += messages.length) >= SMALL_GROUP) return false;
  return records > 0;
}

const isTooLarge = (error: unknown): boolean => (error as { type?: unknown }).type === 'MESSAGE_TOO_LARGE';

/** The message reaches whoever sent the records; the cause, which may name brokers, doesn't. */
const unavailable = (what: string, cause: unknown): ReportLogError =>
  new ReportLogError('report-log-unavailable', `The report log ${what}. Send again later.`, 2, { cause });

function halvesOf({ append, messages }: Portion): Portion[] {
  const middle = messages.length >> 1;
  append.portions++;
  return [messages.slice(0, middle), messages.slice(middle)].map((half) => ({
    append,
    messages: half,
    bytes: half.reduce((sum, { key, value }) => sum + sizeOf(key as Buffer, value as Buffer), 0),
  }));
}

const sizeOf = (key: Uint8Array, value: Uint8Array): number => key.length + value.length + MESSAGE_BYTES;

const messagesOf = (group: readonly Portion[]): Message[] =>
  group.length === 1 ? group[0].messages : group.flatMap((portion) => portion.messages);
