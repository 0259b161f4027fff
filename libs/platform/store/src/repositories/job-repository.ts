import { randomUUID } from 'node:crypto';
import { type Pool } from 'pg';
import { type JobStatus } from '../generated/enums';
import { type Json } from './json';

export { type JobStatus } from '../generated/enums';
export type JobTable = 'mechanism_jobs' | 'classifier_jobs';

export interface JobRecord {
  readonly id: string;
  readonly kind: string;
  readonly request: Json;
  readonly status: JobStatus;
  readonly progress: Json;
  /** How often a trainer has been started for it. */
  readonly attempt: number;
  readonly error: Json;
  readonly result: Json;
  readonly leaseHolder: string | null;
  readonly leaseUntil: Date | null;
  readonly cancelRequested: boolean;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

/** How a job leaves the hands of its holder; 'queued' puts it back for another attempt. */
export type JobEnd =
  | { status: 'succeeded'; result: unknown }
  | { status: 'failed'; error: unknown }
  | { status: 'cancelled'; error?: unknown }
  | { status: 'queued'; error: unknown };

const COLUMNS = `id, kind, request, status, progress, attempt, error, result, lease_holder AS "leaseHolder",
  lease_until AS "leaseUntil", cancel_requested AS "cancelRequested", created_at AS "createdAt",
  started_at AS "startedAt", finished_at AS "finishedAt"`;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Jobs and the leases on them, for both job tables. A lease belongs to a holder until the database's clock passes its end; every
 * write of a holder is refused once the lease has gone to another.
 */
export class JobRepository {
  constructor(
    private readonly pool: Pool,
    private readonly table: JobTable,
  ) {}

  async create(job: { id?: string; kind: string; request: unknown }): Promise<JobRecord> {
    const [created] = await this.query(
      `INSERT INTO ${this.table} (id, kind, request) VALUES ($1, $2, $3) RETURNING ${COLUMNS}`,
      [job.id ?? randomUUID(), job.kind, JSON.stringify(job.request)],
    );
    return created;
  }

  async find(id: string): Promise<JobRecord | undefined> {
    if (!UUID.test(id)) return undefined;
    return (await this.query(`SELECT ${COLUMNS} FROM ${this.table} WHERE id = $1`, [id]))[0];
  }

  /** Newest first. */
  list({ limit = 100, status }: { limit?: number; status?: JobStatus } = {}): Promise<JobRecord[]> {
    return this.query(
      `SELECT ${COLUMNS} FROM ${this.table} WHERE $2::job_status IS NULL OR status = $2::job_status
       ORDER BY created_at DESC, id LIMIT $1`,
      [limit, status ?? null],
    );
  }

  /**
   * Takes a queued job, or a running one whose lease has run out, and counts the attempt.
   * @returns undefined when another holds it or it has ended
   */
  async claim(id: string, holder: string, leaseMs: number): Promise<JobRecord | undefined> {
    const [claimed] = await this.query(
      `UPDATE ${this.table}
       SET status = 'running', attempt = attempt + 1, lease_holder = $2, lease_until = now() + $3 * interval '1 millisecond',
           started_at = coalesce(started_at, now()), error = NULL
       WHERE id = $1 AND (status = 'queued' OR (status = 'running' AND lease_until < now()))
       RETURNING ${COLUMNS}`,
      [id, holder, leaseMs],
    );
    return claimed;
  }

  /** Running jobs whose lease has run out, oldest first. */
  expired(): Promise<JobRecord[]> {
    return this.query(
      `SELECT ${COLUMNS} FROM ${this.table} WHERE status = 'running' AND lease_until < now() ORDER BY created_at`,
      [],
    );
  }

  /** @returns the job as it now is (look at cancelRequested), or undefined when the lease is lost */
  async renew(id: string, holder: string, leaseMs: number): Promise<JobRecord | undefined> {
    const [renewed] = await this.query(
      `UPDATE ${this.table} SET lease_until = now() + $3 * interval '1 millisecond'
       WHERE id = $1 AND status = 'running' AND lease_holder = $2 RETURNING ${COLUMNS}`,
      [id, holder, leaseMs],
    );
    return renewed;
  }

  async reportProgress(id: string, holder: string, progress: unknown): Promise<'written' | 'lease-lost'> {
    const { rowCount } = await this.pool.query(
      `UPDATE ${this.table} SET progress = $3 WHERE id = $1 AND status = 'running' AND lease_holder = $2`,
      [id, holder, JSON.stringify(progress)],
    );
    return rowCount === 1 ? 'written' : 'lease-lost';
  }

  async end(id: string, holder: string, end: JobEnd): Promise<'written' | 'lease-lost'> {
    const result = 'result' in end ? JSON.stringify(end.result) : null;
    const error = 'error' in end && end.error !== undefined ? JSON.stringify(end.error) : null;
    const { rowCount } = await this.pool.query(
      `UPDATE ${this.table}
       SET status = $3::job_status, result = $4, error = $5, lease_holder = NULL, lease_until = NULL,
           finished_at = CASE WHEN $3::job_status = 'queued' THEN NULL ELSE now() END
       WHERE id = $1 AND status = 'running' AND lease_holder = $2`,
      [id, holder, end.status, result, error],
    );
    return rowCount === 1 ? 'written' : 'lease-lost';
  }

  /**
   * Cancels a queued job at once and asks the holder of a running one to stop; one that has ended stays as it is.
   * @returns the job as it now is, or undefined when there is none
   */
  async requestCancel(id: string): Promise<JobRecord | undefined> {
    if (!UUID.test(id)) return undefined;
    const [asked] = await this.query(
      `UPDATE ${this.table}
       SET cancel_requested = true,
           status = CASE WHEN status = 'queued' THEN 'cancelled' ELSE status END,
           finished_at = CASE WHEN status = 'queued' THEN now() END
       WHERE id = $1 AND status IN ('queued', 'running') RETURNING ${COLUMNS}`,
      [id],
    );
    return asked ?? this.find(id);
  }

  private async query(sql: string, values: unknown[]): Promise<JobRecord[]> {
    return (await this.pool.query<JobRecord>(sql, values)).rows;
  }
}
