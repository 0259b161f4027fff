import { REPORT_SCHEMA } from '@undertone/protocol';
import { type Pool, type PoolClient } from 'pg';

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
  ReportLogError,
  type Subscription,
} from '../report-log';
import { byteaArray } from './bytea-array';

export interface PostgresReportLogSettings {
  /** Stays the caller’s. Each subscription keeps one connection, and a lock in its session: no transaction pooler. */
  readonly pool: Pool;
  readonly onFailure: FailureListener;
  /** Entries in one batch at most; 2,000 unless given. */
  readonly maximumBatch?: number;
  /** Bytes of values in one batch, but at least one entry; 8 MiB unless given. */
  readonly maximumBatchBytes?: number;
  /** Records that may wait to be written; 50,000 unless given. */
  readonly maximumWaiting?: number;
  /** Bytes that may wait to be written; 64 MiB unless given. */
  readonly maximumWaitingBytes?: number;
  /** An append that could not start within this time is refused; 20,000 unless given. */
  readonly maximumWaitMs?: number;
  /** Pause between two looks at an empty log; [5, 250] unless given. Appends of this process end it at once. */
  readonly idleMs?: readonly [shortest: number, longest: number];
  /** Pause after a failed batch; [50, 10,000] unless given. */
  readonly retryMs?: readonly [first: number, longest: number];
}

const PARTITION = 0;
const MEBIBYTE = 1024 * 1024;

// Locking the partition's row until the commit makes offsets visible in order: a reader that is past an offset
// can't miss a smaller one.
const APPEND = `
  WITH head AS (
    UPDATE report_log_partitions SET next_offset = next_offset + $4 WHERE partition = $1
    RETURNING next_offset - $4 AS base
  )
  INSERT INTO report_log_entries (partition, log_offset, key, value, appended_at)
  SELECT $1, head.base + record.ordinal - 1, record.key, record.value, now()
  FROM head, unnest($2::bytea[], $3::bytea[]) WITH ORDINALITY AS record (key, value, ordinal)`;

const CREATE_PARTITION = `
  INSERT INTO report_log_partitions (partition, next_offset) VALUES ($1, 0) ON CONFLICT DO NOTHING`;

const READ = `
  SELECT log_offset, value, appended_at FROM (
    SELECT log_offset, value, appended_at,
      sum(octet_length(value)) OVER (ORDER BY log_offset) - octet_length(value) AS bytes_before
    FROM report_log_entries WHERE partition = $1 AND log_offset > $2 ORDER BY log_offset LIMIT $3
  ) AS entry WHERE bytes_before < $4 ORDER BY log_offset`;

const NEXT_OFFSET = `SELECT next_offset FROM report_log_partitions WHERE partition = $1`;

const OLDEST_OFFSET = `
  SELECT log_offset FROM report_log_entries WHERE partition = $1 AND log_offset >= $2 ORDER BY log_offset LIMIT 1`;

const DISCARD = `DELETE FROM report_log_entries WHERE partition = $1 AND log_offset <= $2`;

/**
 * The log as a table. One partition; concurrent appends share one durable INSERT, and several processes may
 * append at once. Of the subscriptions of one consumer name, the one that holds a session lock reads; another
 * takes over when its session ends.
 */
export class PostgresReportLog implements ReportLog {
  readonly name = 'postgres';
  private readonly readers = new Readers<PartitionReader>();
  private readonly commits: GroupCommit<LogRecord>;
  /** Nothing is left before it: spares the next look the index entries of deleted rows. */
  private oldest = 0n;

  constructor(private readonly settings: PostgresReportLogSettings) {
    this.commits = new GroupCommit<LogRecord>({
      write: (records) => this.write(records),
      maximumWaiting: settings.maximumWaiting ?? 50_000,
      maximumWaitingBytes: settings.maximumWaitingBytes ?? 64 * MEBIBYTE,
      maximumGroup: 5_000,
      maximumWaitMs: settings.maximumWaitMs ?? 20_000,
      bytesOf: ({ key, value }) => key.length + value.length,
    });
  }

  append(records: readonly LogRecord[]): Promise<void> {
    return this.commits.add(records);
  }

  subscribe(consumer: LogConsumer): Subscription {
    const reader = new PartitionReader(consumer, {
      partition: PARTITION,
      open: () => this.open(consumer.name),
      maximumBatch: this.settings.maximumBatch ?? 2_000,
      idleMs: this.settings.idleMs ?? DEFAULT_IDLE_MS,
      retryMs: this.settings.retryMs ?? DEFAULT_RETRY_MS,
      onFailure: this.settings.onFailure,
    });
    return this.readers.add(reader);
  }

  async lag(consumer: LogPositions): Promise<number> {
    const position = (await consumer.positionOf(PARTITION)) ?? -1n;
    const { rows } = await this.settings.pool.query<{ next_offset: string }>(NEXT_OFFSET, [PARTITION]);
    return Number(BigInt(rows[0]?.next_offset ?? 0) - 1n - position);
  }

  async discard(consumer: LogPositions, limit: number): Promise<number> {
    const position = await consumer.positionOf(PARTITION);
    if (position === undefined || limit <= 0) return 0;
    const { pool } = this.settings;
    const { rows } = await pool.query<{ log_offset: string }>(OLDEST_OFFSET, [
      PARTITION,
      this.oldest.toString(),
    ]);
    if (rows.length === 0) return 0;
    this.oldest = BigInt(rows[0].log_offset);
    const last = this.oldest + BigInt(limit) - 1n;
    const through = last < position ? last : position;
    if (through < this.oldest) return 0;
    const deleted = await pool.query(DISCARD, [PARTITION, through.toString()]);
    this.oldest = through + 1n;
    return deleted.rowCount ?? 0;
  }

  async close(): Promise<void> {
    await this.commits.close();
    await this.readers.stop();
  }

  private async write(records: readonly LogRecord[]): Promise<void> {
    try {
      if ((await this.insert(records)) === 0) {
        await this.settings.pool.query(CREATE_PARTITION, [PARTITION]);
        await this.insert(records);
      }
    } catch (cause) {
      throw new ReportLogError(
        'report-log-unavailable',
        'The report log could not write. Send again later.',
        2,
        { cause },
      );
    }
    for (const reader of this.readers) reader.wake();
  }

  private async insert(records: readonly LogRecord[]): Promise<number> {
    const result = await this.settings.pool.query({
      name: 'report-log-append',
      text: APPEND,
      values: [
        PARTITION,
        byteaArray(records.map((record) => record.key)),
        byteaArray(records.map((record) => record.value)),
        records.length,
      ],
    });
    return result.rowCount ?? 0;
  }

  private async open(consumer: string): Promise<OpenPartition | undefined> {
    const client = await this.settings.pool.connect();
    // A lost connection shows in the next query; without a listener it would end the process.
    const ignore = (): void => undefined;
    client.on('error', ignore);
    const close = async (failure?: Error): Promise<void> => {
      // A connection that failed may say so once more while it is thrown away.
      if (failure === undefined) client.off('error', ignore);
      client.release(failure);
    };
    const lock = `report-log/${consumer}/${PARTITION}`;
    try {
      if (!(await tryLock(client, lock))) {
        await close();
        return undefined;
      }
    } catch (error) {
      await close(error as Error);
      throw error;
    }
    return {
      read: (after, limit) => this.read(client, after, limit),
      close: async (failure) => {
        // Destroying the connection frees the lock as well.
        const unlocked = failure ?? (await unlock(client, lock).catch((error: Error) => error));
        await close(unlocked);
      },
    };
  }

  private async read(client: PoolClient, after: bigint | undefined, limit: number): Promise<LogEntry[]> {
    const { rows } = await client.query<{ log_offset: string; value: Buffer; appended_at: Date }>({
      name: 'report-log-read',
      text: READ,
      values: [PARTITION, (after ?? -1n).toString(), limit, this.settings.maximumBatchBytes ?? 8 * MEBIBYTE],
    });
    return rows.map((row) => ({
      offset: BigInt(row.log_offset),
      value: row.value,
      schema: REPORT_SCHEMA,
      appendedAt: row.appended_at,
    }));
  }
}

async function tryLock(client: PoolClient, lock: string): Promise<boolean> {
  const { rows } = await client.query<{ held: boolean }>(
    'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS held',
    [lock],
  );
  return rows[0].held;
}

async function unlock(client: PoolClient, lock: string): Promise<undefined> {
  await client.query('SELECT pg_advisory_unlock(hashtextextended($1, 0))', [lock]);
  return undefined;
}
