import { randomUUID } from 'node:crypto';
import { type Job, type JobFailure, type JobProgress } from './job';
import { type Sql } from '@undertone/store';

/** The tables that hold jobs: one a service. */
export type JobTable = 'mechanism_jobs' | 'classifier_jobs';

/** What the holder of a lease learns when it writes to its row. */
export interface LeaseState {
  /** False once another process has taken the job over, or the job has ended. */
  held: boolean;
  cancelRequested: boolean;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const LOST: LeaseState = { held: false, cancelRequested: false };

const COLUMNS =
  'id, kind, status, request, progress, attempt, error, result, created_at, started_at, finished_at';

const read = (row: Record<string, unknown>): Job => ({
  id: row.id as string,
  kind: row.kind as string,
  status: row.status as Job['status'],
  request: row.request as unknown,
  progress: row.progress as JobProgress | null,
  attempt: row.attempt as number,
  error: row.error as JobFailure | null,
  result: row.result as unknown,
  createdAt: row.created_at as Date,
  startedAt: row.started_at as Date | null,
  finishedAt: row.finished_at as Date | null,
});

/**
 * The rows of one job table. A row is the truth about its job; a lease says which process may run it and until when
 * (by the database's clock, so that the clocks of the machines don't matter). Every write of a holder names the
 * holder: once the lease is lost, it changes nothing.
 */
export class JobRows {
  constructor(
    private readonly sql: Sql,
    private readonly table: JobTable,
    private readonly leaseMs: number,
  ) {}

  /** The same rows, read and written through a transaction. */
  within(transaction: Sql): JobRows {
    return new JobRows(transaction, this.table, this.leaseMs);
  }

  async insert(kind: string, request: unknown): Promise<Job> {
    const { rows } = await this.sql.query(
      `INSERT INTO ${this.table} (id, kind, request) VALUES ($1, $2, $3) RETURNING ${COLUMNS}`,
      [randomUUID(), kind, JSON.stringify(request)],
    );
    return read(rows[0]);
  }

  async find(id: string): Promise<Job | undefined> {
    if (!UUID.test(id)) return undefined;
    const { rows } = await this.sql.query(`SELECT ${COLUMNS} FROM ${this.table} WHERE id = $1`, [id]);
    return rows.length > 0 ? read(rows[0]) : undefined;
  }

  /** The newest jobs first. */
  async list(limit: number): Promise<Job[]> {
    const { rows } = await this.sql.query(
      `SELECT ${COLUMNS} FROM ${this.table} ORDER BY created_at DESC, id LIMIT $1`,
      [limit],
    );
    return rows.map(read);
  }

  /** Ids of jobs that any process may start now: queued, or running under a lease that has expired. */
  async waiting(limit: number): Promise<string[]> {
    const { rows } = await this.sql.query(
      `SELECT id FROM ${this.table}
        WHERE status = 'queued' OR (status = 'running' AND lease_until < now())
        ORDER BY created_at LIMIT $1`,
      [limit],
    );
    return rows.map((row) => row.id as string);
  }

  /** Takes the job for `holder` and counts an attempt; undefined when it isn't to be had. */
  async take(id: string, holder: string): Promise<Job | undefined> {
    const { rows } = await this.sql.query(
      `UPDATE ${this.table}
          SET status = 'running', lease_holder = $2, lease_until = now() + $3 * interval '1 millisecond',
              attempt = attempt + 1, started_at = coalesce(started_at, now())
        WHERE id = $1 AND NOT cancel_requested
          AND (status = 'queued' OR (status = 'running' AND lease_until < now()))
        RETURNING ${COLUMNS}`,
      [id, holder, this.leaseMs],
    );
    return rows.length > 0 ? read(rows[0]) : undefined;
  }

  /** Extends the lease, and writes the progress where there is news. */
  async renew(id: string, holder: string, progress?: JobProgress): Promise<LeaseState> {
    const { rows } = await this.sql.query(
      `UPDATE ${this.table}
          SET lease_until = now() + $3 * interval '1 millisecond', progress = coalesce($4, progress)
        WHERE id = $1 AND lease_holder = $2 AND status = 'running'
        RETURNING cancel_requested`,
      [id, holder, this.leaseMs, progress ? JSON.stringify(progress) : null],
    );
    return rows.length > 0 ? { held: true, cancelRequested: rows[0].cancel_requested as boolean } : LOST;
  }

  /** Marks the job as succeeded; false when the lease was lost or its cancellation was asked for in time. */
  async succeed(id: string, holder: string, result: unknown): Promise<boolean> {
    const { rowCount } = await this.sql.query(
      `UPDATE ${this.table}
          SET status = 'succeeded', error = NULL, result = $3, finished_at = now(),
              lease_holder = NULL, lease_until = NULL
        WHERE id = $1 AND lease_holder = $2 AND status = 'running' AND NOT cancel_requested`,
      [id, holder, JSON.stringify(result)],
    );
    return rowCount === 1;
  }

  fail(id: string, holder: string, failure: JobFailure): Promise<boolean> {
    return this.end(id, holder, `status = 'failed', error = $3`, [JSON.stringify(failure)]);
  }

  /** As `fail`, for a job that was taken only to find that it can't be started: the attempt isn't counted. */
  failUnstarted(id: string, holder: string, failure: JobFailure): Promise<boolean> {
    return this.end(id, holder, `status = 'failed', attempt = attempt - 1, error = $3`, [
      JSON.stringify(failure),
    ]);
  }

  cancelled(id: string, holder: string): Promise<boolean> {
    return this.end(id, holder, `status = 'cancelled'`, []);
  }

  /** Puts the job back for another attempt; `failure` says what ended this one. */
  requeue(id: string, holder: string, failure: JobFailure): Promise<boolean> {
    return this.change(id, holder, `status = 'queued', error = $3`, [JSON.stringify(failure)]);
  }

  /** Puts the job back as if this attempt hadn't been made: the service stops. */
  release(id: string, holder: string): Promise<boolean> {
    return this.change(id, holder, `status = 'queued', attempt = attempt - 1`, []);
  }

  /**
   * Asks for the job to be cancelled. One that nobody runs is cancelled here and now; of a running one the holder
   * is told when it next renews its lease. Undefined when the job had already ended.
   */
  async requestCancel(id: string): Promise<'cancelled' | 'requested' | undefined> {
    const { rows } = await this.sql.query(
      `UPDATE ${this.table}
          SET cancel_requested = true,
              finished_at = CASE WHEN status = 'queued' OR lease_until < now() THEN now() END,
              lease_holder = CASE WHEN status = 'queued' OR lease_until < now() THEN NULL ELSE lease_holder END,
              status = CASE WHEN status = 'queued' OR lease_until < now() THEN 'cancelled'::job_status
                            ELSE status END
        WHERE id = $1 AND status IN ('queued', 'running')
        RETURNING status`,
      [id],
    );
    if (rows.length === 0) return undefined;
    return rows[0].status === 'cancelled' ? 'cancelled' : 'requested';
  }

  /** Ends jobs whose cancellation was asked for while they ran and whose holder is gone or has put them back. */
  async cancelAbandoned(): Promise<void> {
    await this.sql.query(
      `UPDATE ${this.table} SET status = 'cancelled', lease_holder = NULL, lease_until = NULL, finished_at = now()
        WHERE cancel_requested AND (status = 'queued' OR (status = 'running' AND lease_until < now()))`,
    );
  }

  /** Those of `ids` that belong to jobs which ended more than `days` ago. */
  async endedBefore(days: number, ids: string[]): Promise<string[]> {
    const { rows } = await this.sql.query(
      `SELECT id FROM ${this.table} WHERE id = ANY($2::uuid[]) AND finished_at < now() - $1 * interval '1 day'`,
      [days, ids.filter((id) => UUID.test(id))],
    );
    return rows.map((row) => row.id as string);
  }

  private end(id: string, holder: string, set: string, values: unknown[]): Promise<boolean> {
    return this.change(id, holder, `${set}, finished_at = now()`, values);
  }

  private async change(id: string, holder: string, set: string, values: unknown[]): Promise<boolean> {
    const { rowCount } = await this.sql.query(
      `UPDATE ${this.table} SET ${set}, lease_holder = NULL, lease_until = NULL
        WHERE id = $1 AND lease_holder = $2 AND status = 'running'`,
      [id, holder, ...values],
    );
    return rowCount === 1;
  }
}
