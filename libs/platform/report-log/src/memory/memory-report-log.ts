import { REPORT_SCHEMA } from '@undertone/protocol';

import { GroupCommit } from '../group-commit';
import { DEFAULT_IDLE_MS, DEFAULT_RETRY_MS, type OpenPartition, PartitionReader } from '../partition-reader';
import { Readers } from '../readers';
import {
  type FailureListener,
  type LogConsumer,
  type LogEntry,
  type LogPositions,
  type LogRecord,
  type ReportLog,
  type Subscription,
} from '../report-log';

export interface MemoryReportLogSettings {
  readonly onFailure: FailureListener;
  /** 1 unless given. */
  readonly partitions?: number;
  /** Entries in one batch at most; 2,000 unless given. */
  readonly maximumBatch?: number;
  /** Records that may wait to be written; 50,000 unless given. */
  readonly maximumWaiting?: number;
  readonly idleMs?: readonly [shortest: number, longest: number];
  /** Pause after a failed batch; [50, 10,000] unless given. */
  readonly retryMs?: readonly [first: number, longest: number];
}

interface Partition {
  entries: LogEntry[];
  next: bigint;
  readonly readBy: Set<string>;
}

let created = 0;

/** A log that lasts as long as the process: for specs, and the slow twin of the durable adapters. */
export class MemoryReportLog implements ReportLog {
  readonly name: string;
  private readonly partitions: Partition[];
  private readonly readers = new Readers<PartitionReader>();
  private readonly commits: GroupCommit<LogRecord>;

  constructor(
    private readonly settings: MemoryReportLogSettings,
    survivor?: MemoryReportLog,
  ) {
    this.name = survivor?.name ?? `memory-${++created}`;
    this.partitions =
      survivor?.partitions ??
      Array.from({ length: settings.partitions ?? 1 }, () => ({ entries: [], next: 0n, readBy: new Set() }));
    this.commits = new GroupCommit<LogRecord>({
      write: (records) => this.write(records),
      maximumWaiting: settings.maximumWaiting ?? 50_000,
      maximumWaitingBytes: Number.MAX_SAFE_INTEGER,
      maximumGroup: 5_000,
      maximumWaitMs: 20_000,
      bytesOf: () => 0,
    });
  }

  /** Another handle on the same entries, as a restarted or second process has one. */
  reopen(settings: MemoryReportLogSettings): MemoryReportLog {
    return new MemoryReportLog(settings, this);
  }

  append(records: readonly LogRecord[]): Promise<void> {
    return this.commits.add(records);
  }

  subscribe(consumer: LogConsumer): Subscription {
    const readers = this.partitions.map(
      (partition, index) =>
        new PartitionReader(consumer, {
          partition: index,
          open: async () => openPartition(partition, consumer.name),
          maximumBatch: this.settings.maximumBatch ?? 2_000,
          idleMs: this.settings.idleMs ?? DEFAULT_IDLE_MS,
          retryMs: this.settings.retryMs ?? DEFAULT_RETRY_MS,
          onFailure: this.settings.onFailure,
        }),
    );
    return this.readers.add(...readers);
  }

  async lag(consumer: LogPositions): Promise<number> {
    let lag = 0;
    for (const [index, { entries }] of this.partitions.entries()) {
      const position = await consumer.positionOf(index);
      lag += entries.length - countThrough(entries, position);
    }
    return lag;
  }

  async discard(consumer: LogPositions, limit: number): Promise<number> {
    let discarded = 0;
    for (const [index, partition] of this.partitions.entries()) {
      const position = await consumer.positionOf(index);
      const count = Math.min(countThrough(partition.entries, position), limit - discarded);
      partition.entries = partition.entries.slice(count);
      discarded += count;
    }
    return discarded;
  }

  async close(): Promise<void> {
    await this.commits.close();
    await this.readers.stop();
  }

  private async write(records: readonly LogRecord[]): Promise<void> {
    // A durable log answers later than the turn it was asked in; so does this one.
    await new Promise((resolve) => setImmediate(resolve));
    const appendedAt = new Date();
    for (const { key, value } of records) {
      const partition = this.partitions[partitionOf(key, this.partitions.length)];
      partition.entries.push({
        offset: partition.next++,
        value: Uint8Array.from(value),
        schema: REPORT_SCHEMA,
        appendedAt,
      });
    }
    for (const reader of this.readers) reader.wake();
  }
}

function openPartition(partition: Partition, consumer: string): OpenPartition | undefined {
  if (partition.readBy.has(consumer)) return undefined;
  partition.readBy.add(consumer);
  return {
    read: async (after, limit) => {
      const start = countThrough(partition.entries, after);
      return partition.entries.slice(start, start + limit);
    },
    close: async () => {
      partition.readBy.delete(consumer);
    },
  };
}

/** How many entries stand at or before an offset. */
function countThrough(entries: readonly LogEntry[], offset: bigint | undefined): number {
  if (offset === undefined || entries.length === 0) return 0;
  const behind = Number(offset - entries[0].offset) + 1;
  return Math.min(Math.max(behind, 0), entries.length);
}

/** FNV-1a. */
function partitionOf(key: Uint8Array, partitions: number): number {
  let hash = 0x811c9dc5;
  for (const byte of key) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash % partitions;
}
