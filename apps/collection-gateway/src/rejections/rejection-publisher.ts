import { type RejectedEntry } from '@undertone/protocol';
import { type LogRecord } from '@undertone/report-log';
import { inTransaction } from '@undertone/store';
import { type Pool, type PoolClient } from 'pg';

import { Recurring, type RecurringSettings } from '../recurring/recurring';

/** Where rejected entries are told. Resolves when they are durable; records may come twice. */
export interface RejectionSink {
  append(records: readonly LogRecord[]): Promise<void>;
}

export interface PublisherSettings extends Pick<RecurringSettings, 'onFailure'> {
  /** Name of the log whose rejected entries are published; it ends in the name of the topic behind it. */
  readonly log: string;
  readonly sink: RejectionSink;
  /** Pause between two looks; 5,000 unless given. `wake` ends it. */
  readonly everyMs?: number;
  /** Entries that are published at once; 500 unless given. */
  readonly chunk?: number;
}

interface RejectedRow {
  partition: number;
  log_offset: string;
  task: string | null;
  reason: string;
  detail: string;
  at: Date;
}

// Of several processes, each takes rows that no other is at.
const TAKE = `
  SELECT partition, log_offset, task, reason, detail, at FROM rejected_reports
  WHERE log = $1 AND published_at IS NULL ORDER BY partition, log_offset LIMIT $2 FOR UPDATE SKIP LOCKED`;

const MARK = `
  UPDATE rejected_reports AS entry SET published_at = now()
  FROM unnest($2::int[], $3::bigint[]) AS published (partition, log_offset)
  WHERE entry.log = $1 AND entry.partition = published.partition AND entry.log_offset = published.log_offset`;

/**
 * Tells another system, in practice a topic, what was rejected: each entry at least once, with the key
 * `topic/partition/offset` of the place where it came from. The ingest never waits for it.
 */
export class RejectionPublisher {
  private readonly recurring: Recurring;

  constructor(
    private readonly pool: Pool,
    private readonly settings: PublisherSettings,
  ) {
    const { everyMs = 5_000, onFailure } = settings;
    this.recurring = new Recurring(() => this.publish(), { everyMs, onFailure });
  }

  start(): void {
    this.recurring.start();
  }

  /** There is something to publish. */
  wake(): void {
    this.recurring.wake();
  }

  /** Resolves when nothing is being published and nothing will be. */
  async stop(): Promise<void> {
    await this.recurring.stop();
  }

  /** Publishes all that waits now, and resolves to how many entries that were. */
  async publish(): Promise<number> {
    const { chunk = 500 } = this.settings;
    let published = 0;
    while (!this.recurring.isStopped) {
      const count = await inTransaction(this.pool, (transaction) => this.publishChunk(transaction, chunk));
      published += count;
      if (count < chunk) break;
    }
    return published;
  }

  private async publishChunk(transaction: PoolClient, chunk: number): Promise<number> {
    const { log, sink } = this.settings;
    const { rows } = await transaction.query<RejectedRow>(TAKE, [log, chunk]);
    if (rows.length === 0) return 0;
    await sink.append(rows.map((row) => this.record(row)));
    await transaction.query(MARK, [
      log,
      rows.map(({ partition }) => partition),
      rows.map(({ log_offset }) => log_offset),
    ]);
    return rows.length;
  }

  private record({ partition, log_offset: offset, at, ...row }: RejectedRow): LogRecord {
    const { log } = this.settings;
    const topic = log.slice(log.lastIndexOf('/') + 1);
    // Unchecked: a later version's reason mustn't hold up what comes after it.
    const entry = { log, partition, offset, ...row, at: at.toISOString() } as RejectedEntry;
    return {
      key: Buffer.from(`${topic}/${partition}/${offset}`),
      value: Buffer.from(JSON.stringify(entry)),
    };
  }
}
