import { setTimeout as sleep } from 'node:timers/promises';

import { retryPause } from '../partition-reader';
import { type FailureListener, type LogBatch, type LogConsumer, type LogEntry } from '../report-log';

/** What one fetch brought of a partition. */
export interface FetchedEntries {
  /** The offset that was asked for. */
  readonly from: bigint;
  readonly entries: readonly LogEntry[];
  /** Last offset that is dealt with by these entries: theirs, or one that holds none (a control record). */
  readonly through: bigint;
  /** The offset that the partition's next entry would have got then. */
  readonly end: bigint;
}

export interface PartitionBounds {
  /** Offset of the oldest entry that is left; `next` where none is. */
  readonly first: bigint;
  /** The offset that the next entry will get. */
  readonly next: bigint;
}

export interface PartitionFeedSettings {
  readonly partition: number;
  readonly consumer: LogConsumer;
  /** Entries in one batch at most. */
  readonly maximumBatch: number;
  /** Bytes of values that may be held, those in the handler's hands included, before fetching stops. */
  readonly maximumHeldBytes: number;
  readonly retryMs: readonly [first: number, longest: number];
  readonly onFailure: FailureListener;
  /** An earlier feed of the partition in this process: nothing happens before it has ended. */
  readonly after: Promise<unknown>;
  /** Runs the work when its turn has come; bounds how many handlers run at a time. */
  readonly inTurn: (work: () => Promise<void>) => Promise<void>;
  readonly bounds: () => Promise<PartitionBounds>;
  /** The next fetch shall ask for this offset. */
  readonly seek: (offset: bigint) => void;
  readonly pause: () => void;
  readonly resume: () => void;
  /** Every entry before this offset is dealt with, or gone. */
  readonly dealtWith: (before: bigint) => void;
}

/** A partition whose entries are gone: reading on would skip what took their place. */
export class LogReplacedError extends Error {
  readonly code = 'log-replaced';

  constructor(partition: number, position: bigint, next: bigint) {
    super(
      `Partition ${partition} goes to offset ${next - 1n} only, and the consumer has dealt with ${position}: the topic ` +
        'was replaced, or its brokers have lost entries. Nothing of it is read, since new entries would be taken for ' +
        'old ones. Bring the topic back, or delete the consumer’s positions in this log to read it from its start.',
    );
    this.name = 'LogReplacedError';
  }
}

/** Entries that were deleted before the consumer saw them. Nothing brings them back, so reading goes on after them. */
export class EntriesGoneError extends Error {
  readonly code = 'entries-gone';

  constructor(partition: number, first: bigint, last: bigint) {
    super(
      `Partition ${partition} has lost its entries ${first} to ${last} before the consumer read them: they were deleted ` +
        'by age or by hand, or the consumer’s positions come from an old backup. Acknowledged reports among them are ' +
        'gone, unless they are stored already. Reading goes on after them.',
    );
    this.name = 'EntriesGoneError';
  }
}

/** An entry keeps the whole answer alive that brought it, so those that wait may be of this many fetches only. */
const MAXIMUM_WAITING_FETCHES = 4;

/**
 * Feeds one partition to a consumer for as long as this process has it: in order, at least once, from the
 * consumer's own position. Fetching and handling overlap: what is fetched waits here for the handler.
 */
export class PartitionFeed {
  /** Resolves once no handler runs and none will. */
  readonly ended: Promise<void>;

  private readonly stop = new AbortController();
  /** Whether `position` and `next` agree with the consumer's store and the log. */
  private located = false;
  private resting = false;
  private failures = 0;
  /** The last offset that the consumer is past; `undefined` where it has seen none. */
  private position: bigint | undefined;

  /** Every entry from `from` to before `next` that isn't dealt with; the handler has the first `running` of them. */
  private held: LogEntry[] = [];
  private heldBytes = 0;
  private running = 0;
  /** Where `held` began; `undefined` where fetching has to begin anew. */
  private from: bigint | undefined;
  private next = 0n;
  /** Last offset of each fetch that entries are held of. */
  private fetches: bigint[] = [];

  private paused = false;
  private busySince: number | undefined = Date.now();
  private waitsForTurn = false;
  private news: (() => void) | undefined;
  private readonly roomSeekers = new Set<() => void>();

  constructor(private readonly settings: PartitionFeedSettings) {
    this.ended = this.run();
  }

  get partition(): number {
    return this.settings.partition;
  }

  /** The offset that fetching goes on with, while nothing is left to hand over; otherwise `undefined`. */
  get idleAt(): bigint | undefined {
    return this.busySince === undefined && this.located && !this.stop.signal.aborted ? this.next : undefined;
  }

  /** Since when work has been at hand without an attempt's begin or end; `undefined` while there is none, or while others have their turn. */
  busyWithoutStepSince(): number | undefined {
    return this.waitsForTurn ? undefined : this.busySince;
  }

  /**
   * Takes in what was fetched, less what came before. False when it can't follow on what was taken so far: then
   * it's dropped, and fetching shall begin anew where `seek` says.
   */
  take({ from, entries, through, end }: FetchedEntries): boolean {
    if (!this.located || this.stop.signal.aborted) return false;
    // Nothing says what lies between our entries and those of an answer to another question: one asked before a
    // rebalance, or of a log that has been replaced.
    if (from > this.next || end < this.next) {
      this.from = undefined;
      this.located = false;
      this.news?.();
      return false;
    }
    const before = this.held.length;
    for (const entry of entries) {
      if (entry.offset < this.next) continue;
      this.held.push(entry);
      this.heldBytes += entry.value.length;
    }
    if (through >= this.next) this.next = through + 1n;
    if (this.held.length > before) {
      this.fetches.push(this.held[this.held.length - 1].offset);
      this.news?.();
    }
    return true;
  }

  /** Resolves to whether more may be fetched: as soon as it may, or after `withinMs` at the latest. */
  async room(withinMs: number): Promise<boolean> {
    if (this.wantsMore || this.failures > 0 || this.stop.signal.aborted) return this.wantsMore;
    await new Promise<void>((resolve) => {
      const answer = (): void => {
        clearTimeout(timer);
        this.roomSeekers.delete(answer);
        resolve();
      };
      const timer = setTimeout(answer, withinMs);
      this.roomSeekers.add(answer);
    });
    return this.wantsMore;
  }

  /** Stops fetching until there is room again. */
  pause(): void {
    if (this.paused || this.stop.signal.aborted) return;
    this.paused = true;
    this.settings.pause();
  }

  /** No further handler begins; see `ended`. */
  end(): void {
    this.stop.abort();
    this.news?.();
    this.answerRoomSeekers();
  }

  private get wantsMore(): boolean {
    if (!this.located || this.resting || this.stop.signal.aborted) return false;
    if (this.failures > 0) return this.held.length === 0;
    const runningThrough = this.running === 0 ? -1n : this.held[this.running - 1].offset;
    return (
      this.held.length - this.running < this.settings.maximumBatch &&
      this.heldBytes < this.settings.maximumHeldBytes &&
      this.fetches.filter((last) => last > runningThrough).length < MAXIMUM_WAITING_FETCHES
    );
  }

  private async run(): Promise<void> {
    await this.settings.after;
    while (!this.stop.signal.aborted) {
      let batch: LogBatch | undefined;
      this.step();
      try {
        if (!this.located) await this.locate();
        else if (this.held.length === 0) await this.untilNews();
        else await this.inTurn(() => this.handOver((current) => (batch = current)));
      } catch (error) {
        await this.recover(error, batch);
      }
      this.roomChanged();
    }
  }

  /** Asks the consumer where it is, and begins to fetch there unless what is held goes on from there. */
  private async locate(): Promise<void> {
    const { partition, consumer, bounds, seek, dealtWith } = this.settings;
    const position = await consumer.positionOf(partition);
    if (!this.followsOn(position)) {
      const { first, next } = await bounds();
      if (position !== undefined && position >= next) throw new LogReplacedError(partition, position, next);
      if (this.stop.signal.aborted) return;
      const wanted = position === undefined ? 0n : position + 1n;
      if (position !== undefined && first > wanted) this.tellGone(wanted, first - 1n);
      this.dropBefore(this.next);
      this.next = wanted > first ? wanted : first;
      this.from = this.next;
      seek(this.next);
    } else if (position !== undefined) {
      this.dropBefore(position + 1n);
    }
    this.position = position;
    this.located = true;
    dealtWith(this.from ?? this.next);
    if (this.held.length === 0) this.failures = 0;
  }

  private tellGone(first: bigint, last: bigint): void {
    const { partition, consumer, onFailure } = this.settings;
    const error = new EntriesGoneError(partition, first, last);
    onFailure({
      consumer: consumer.name,
      partition,
      offsets: [first, last],
      error,
      attempt: 1,
      retryInMs: 0,
    });
  }

  private followsOn(position: bigint | undefined): boolean {
    if (this.from === undefined) return false;
    if (position === this.position) return true;
    return position !== undefined && position + 1n >= this.from && position < this.next;
  }

  private dropBefore(offset: bigint): void {
    const found = this.held.findIndex((entry) => entry.offset >= offset);
    const count = found === -1 ? this.held.length : found;
    for (let i = 0; i < count; i++) this.heldBytes -= this.held[i].value.length;
    this.held = this.held.slice(count);
    this.fetches = this.fetches.filter((last) => last >= offset);
    if (this.from !== undefined && offset > this.from) this.from = offset;
  }

  private async inTurn(work: () => Promise<void>): Promise<void> {
    this.waitsForTurn = true;
    try {
      await this.settings.inTurn(() => {
        this.waitsForTurn = false;
        return work();
      });
    } finally {
      this.waitsForTurn = false;
    }
  }

  private async handOver(current: (batch: LogBatch) => void): Promise<void> {
    if (this.stop.signal.aborted || !this.located) return;
    const { partition, consumer, maximumBatch, dealtWith } = this.settings;
    const batch = { partition, entries: this.held.slice(0, maximumBatch) };
    const last = batch.entries[batch.entries.length - 1].offset;
    current(batch);
    this.running = batch.entries.length;
    this.step();
    this.roomChanged();
    try {
      await consumer.handle(batch);
    } finally {
      this.running = 0;
    }
    this.position = last;
    this.failures = 0;
    this.dropBefore(last + 1n);
    dealtWith(last + 1n);
  }

  private async recover(error: unknown, batch: LogBatch | undefined): Promise<void> {
    const { partition, consumer, retryMs, onFailure } = this.settings;
    this.failures++;
    this.step();
    const retryInMs = retryPause(retryMs, this.failures);
    const entries = batch?.entries;
    onFailure({
      consumer: consumer.name,
      partition,
      offsets: entries && [entries[0].offset, entries[entries.length - 1].offset],
      error,
      attempt: this.failures,
      retryInMs,
    });
    this.resting = true;
    this.answerRoomSeekers();
    await sleep(retryInMs, undefined, { signal: this.stop.signal }).catch(() => undefined);
    this.resting = false;
    this.located = false;
  }

  private async untilNews(): Promise<void> {
    this.busySince = undefined;
    await new Promise<void>((resolve) => (this.news = resolve));
    this.news = undefined;
  }

  private step(): void {
    this.busySince = Date.now();
  }

  private roomChanged(): void {
    if (!this.wantsMore) return;
    this.answerRoomSeekers();
    if (!this.paused) return;
    this.paused = false;
    this.settings.resume();
  }

  private answerRoomSeekers(): void {
    for (const answer of [...this.roomSeekers]) answer();
  }
}
