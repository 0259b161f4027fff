import { setTimeout as sleep } from 'node:timers/promises';

import {
  type FailureListener,
  type LogBatch,
  type LogConsumer,
  type LogEntry,
  type Subscription,
} from './report-log';

/** A partition that this process alone reads for a consumer. */
export interface OpenPartition {
  /** At most `limit` entries after an offset (from the oldest where undefined), in order. */
  read(after: bigint | undefined, limit: number): Promise<LogEntry[]>;
  close(failure?: Error): Promise<void>;
}

export interface PartitionReaderSettings {
  readonly partition: number;
  /** Resolves to undefined while another subscription of the consumer has the partition. */
  readonly open: () => Promise<OpenPartition | undefined>;
  readonly maximumBatch: number;
  /** Pause between two looks at an empty log: grows from the first to the second while it stays empty. */
  readonly idleMs: readonly [shortest: number, longest: number];
  /** Pause after a failure: doubles from the first to the second, less up to a half by chance. */
  readonly retryMs: readonly [first: number, longest: number];
  readonly onFailure: FailureListener;
}

export const DEFAULT_IDLE_MS = [5, 250] as const;
export const DEFAULT_RETRY_MS = [50, 10_000] as const;

/** Milliseconds to wait after so many failures in a row. */
export function retryPause([first, longest]: readonly [number, number], failures: number): number {
  const ceiling = Math.min(first * 2 ** (failures - 1), longest);
  return Math.round(ceiling * (0.5 + Math.random() / 2));
}

/** Feeds one partition to one consumer: in order, at least once, from the consumer's own position. */
export class PartitionReader implements Subscription {
  private stopping = false;
  private readonly stopSignal = new AbortController();
  private pause: AbortController | undefined;
  private appended = false;
  private failures = 0;
  private lastActive = new Date();
  private readonly running: Promise<void>;
  /** Never resolves: a reader goes on after whatever failure. */
  readonly died = new Promise<Error>(() => undefined);

  constructor(
    private readonly consumer: LogConsumer,
    private readonly settings: PartitionReaderSettings,
  ) {
    this.running = this.run();
  }

  /** Tells that entries may have arrived: ends an idle pause at once. */
  wake(): void {
    this.appended = true;
    this.pause?.abort();
  }

  lastActiveAt(): Date {
    return this.lastActive;
  }

  async stop(): Promise<void> {
    this.stopping = true;
    this.stopSignal.abort();
    this.pause?.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      this.lastActive = new Date();
      let partition: OpenPartition | undefined;
      let batch: LogBatch | undefined;
      try {
        partition = await this.settings.open();
        if (partition === undefined) {
          // Of what is appended the other subscription takes care.
          await this.wait(this.settings.idleMs[1]);
          continue;
        }
        await this.feed(partition, (current) => (batch = current));
        await partition.close();
      } catch (error) {
        await partition?.close(error as Error).catch(() => undefined);
        await this.recover(error, batch);
      }
    }
  }

  private async feed(
    partition: OpenPartition,
    current: (batch: LogBatch | undefined) => void,
  ): Promise<void> {
    const { maximumBatch, idleMs } = this.settings;
    let position = await this.consumer.positionOf(this.settings.partition);
    let idle = idleMs[0];
    const read = (): Promise<LogEntry[]> => {
      this.appended = false;
      return partition.read(position, maximumBatch);
    };
    let ahead: Promise<LogEntry[]> | undefined;
    while (!this.stopping) {
      this.lastActive = new Date();
      const entries = await (ahead ?? read());
      ahead = undefined;
      if (entries.length === 0) {
        await this.rest(idle);
        idle = Math.min(idle * 2, idleMs[1]);
        continue;
      }
      idle = idleMs[0];
      const batch = { partition: this.settings.partition, entries };
      position = entries[entries.length - 1].offset;
      current(batch);
      // After a full batch more is there already: fetch it while the handler works.
      if (entries.length === maximumBatch) ahead = read();
      // It may fail long before the handler is done; a rejection that nobody listens to would end the process.
      const fetched = ahead?.catch(() => undefined);
      try {
        await this.consumer.handle(batch);
      } finally {
        await fetched;
      }
      current(undefined);
      this.failures = 0;
    }
  }

  private async recover(error: unknown, batch: LogBatch | undefined): Promise<void> {
    this.failures++;
    const retryInMs = retryPause(this.settings.retryMs, this.failures);
    const entries = batch?.entries;
    this.settings.onFailure({
      consumer: this.consumer.name,
      partition: this.settings.partition,
      offsets: entries && [entries[0].offset, entries[entries.length - 1].offset],
      error,
      attempt: this.failures,
      retryInMs,
    });
    await this.wait(retryInMs);
  }

  private async wait(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.stopSignal.signal }).catch(() => undefined);
  }

  private async rest(ms: number): Promise<void> {
    if (this.appended || this.stopping) return;
    this.pause = new AbortController();
    await sleep(ms, undefined, { signal: this.pause.signal }).catch(() => undefined);
    this.pause = undefined;
  }
}
