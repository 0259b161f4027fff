import { ReportLogError } from './report-log';

export interface GroupCommitSettings<T> {
  /** Makes a group durable, as a whole. */
  readonly write: (group: readonly T[]) => Promise<void>;
  /** Items that may wait, those under way included. */
  readonly maximumWaiting: number;
  /** Bytes that may wait, those under way included. */
  readonly maximumWaitingBytes: number;
  /** A group closes at the first addition that takes it to this many items. */
  readonly maximumGroup: number;
  /** An addition that has waited longer than this is refused instead of written late. */
  readonly maximumWaitMs: number;
  readonly bytesOf: (item: T) => number;
}

interface Addition<T> {
  readonly items: readonly T[];
  readonly bytes: number;
  readonly since: number;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * One write in flight; what is added meanwhile gathers and goes out together in the next. Under light load an
 * addition is written at once, under heavy load one durable write is shared by all that wait.
 */
export class GroupCommit<T> {
  private readonly queue: Addition<T>[] = [];
  private waiting = 0;
  private waitingBytes = 0;
  private draining: Promise<void> | undefined;
  private closed = false;

  constructor(private readonly settings: GroupCommitSettings<T>) {}

  /** Resolves when the items are durable; one addition is never split over two writes. */
  add(items: readonly T[]): Promise<void> {
    if (this.closed) return Promise.reject(closedError());
    if (items.length === 0) return Promise.resolve();
    const bytes = items.reduce((sum, item) => sum + this.settings.bytesOf(item), 0);
    const { maximumWaiting, maximumWaitingBytes } = this.settings;
    const full =
      this.waiting + items.length > maximumWaiting || this.waitingBytes + bytes > maximumWaitingBytes;
    // An addition larger than the whole bound still goes through an idle queue: it could never pass otherwise.
    if (full && this.waiting > 0) return Promise.reject(fullError(this.waiting));
    this.waiting += items.length;
    this.waitingBytes += bytes;
    return new Promise((resolve, reject) => {
      this.queue.push({ items, bytes, since: performance.now(), resolve, reject });
      this.draining ??= this.drain();
    });
  }

  /** Refuses further additions and resolves when those accepted have been answered. */
  async close(): Promise<void> {
    this.closed = true;
    await this.draining;
  }

  private async drain(): Promise<void> {
    // Lets the additions of one turn of the event loop share the first write.
    await Promise.resolve();
    while (this.queue.length > 0) {
      const group = this.nextGroup();
      if (group.length === 0) continue;
      try {
        await this.settings.write(group.flatMap((addition) => addition.items));
        for (const addition of group) addition.resolve();
      } catch (error) {
        for (const addition of group) addition.reject(error);
      }
      for (const addition of group) this.forget(addition);
    }
    this.draining = undefined;
  }

  private nextGroup(): Addition<T>[] {
    const group: Addition<T>[] = [];
    const oldest = performance.now() - this.settings.maximumWaitMs;
    let taken = 0;
    let used = 0;
    for (const addition of this.queue) {
      if (taken >= this.settings.maximumGroup) break;
      used++;
      if (addition.since < oldest) {
        this.forget(addition);
        addition.reject(fullError(this.waiting));
      } else {
        group.push(addition);
        taken += addition.items.length;
      }
    }
    this.queue.splice(0, used);
    return group;
  }

  private forget(addition: Addition<T>): void {
    this.waiting -= addition.items.length;
    this.waitingBytes -= addition.bytes;
  }
}

export const fullError = (waiting: number): ReportLogError =>
  new ReportLogError(
    'report-log-full',
    `The report log can't keep up: ${waiting} records wait to be written. Send again later.`,
    1,
  );

export const closedError = (): ReportLogError =>
  new ReportLogError('report-log-closed', 'The report log is closing; send again to another process.', 1);
