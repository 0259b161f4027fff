import { type Pool } from 'pg';
import { StoreError } from '../store-error';

export interface ReportRecord {
  /** 16 bytes. */
  readonly id: Uint8Array;
  readonly payload: Uint8Array;
  readonly receivedAt: Date;
}

interface ReportRow {
  id: Buffer;
  payload: Buffer;
  received_at: Date;
}

const BATCH = 5_000;

/** Stored reports, as those who fit classifiers read them; written by collection-gateway. */
export class ReportRepository {
  constructor(private readonly pool: Pool) {}

  async count(task: string): Promise<number> {
    const { rows } = await this.pool.query<{ count: string }>(
      'SELECT count(*) AS count FROM reports WHERE task = $1',
      [task],
    );
    return Number(rows[0].count);
  }

  /**
   * All reports of a task in batches, ordered by id: the same reports always come in the same order, whenever they arrived. Holds
   * one batch at a time and no connection between two.
   *
   * @param upTo leaves out reports received later, so that a job that starts again sees the reports it saw before
   * @throws StoreError 'reports-deleted' at the end, where the task's reports are being deleted: some may have been missing
   */
  async *read(
    task: string,
    { upTo, batchSize = BATCH }: { upTo?: Date; batchSize?: number } = {},
  ): AsyncGenerator<ReportRecord[]> {
    let after: Uint8Array = new Uint8Array();
    for (;;) {
      const { rows } = await this.pool.query<ReportRow>(
        `SELECT id, payload, received_at FROM reports
         WHERE task = $1 AND id > $2 AND received_at <= coalesce($3::timestamptz, 'infinity')
         ORDER BY id LIMIT $4`,
        [task, after, upTo ?? null, batchSize],
      );
      if (rows.length === 0) return this.requireKept(task);
      yield rows.map((row) => ({ id: row.id, payload: row.payload, receivedAt: row.received_at }));
      after = rows[rows.length - 1].id;
    }
  }

  private async requireKept(task: string): Promise<void> {
    const { rows } = await this.pool.query<{ reports_dropped_at: Date | null }>(
      'SELECT reports_dropped_at FROM tasks WHERE name = $1',
      [task],
    );
    const droppedAt = rows[0]?.reports_dropped_at ?? null;
    if (droppedAt !== null) throw reportsDeleted(task, droppedAt);
  }
}

export const reportsDeleted = (task: string, droppedAt: Date): StoreError =>
  new StoreError(
    'reports-deleted',
    `the reports of task "${task}" were deleted on ${droppedAt.toISOString().slice(0, 10)}, when their retention had passed; ` +
      'what was fitted on them before stays, and nothing more can be.',
  );
