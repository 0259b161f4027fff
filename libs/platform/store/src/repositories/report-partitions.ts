import { escapeIdentifier, type Pool, type PoolClient } from 'pg';

export interface DroppedReports {
  readonly task: string;
  /** Bytes on the disk that are free again. */
  readonly bytes: number;
}

interface PartitionRow {
  task: string;
  partition: string;
  state: 'attached' | 'detaching' | 'detached';
  bytes: string;
}

const EXPIRE = `
  UPDATE tasks SET reports_dropped_at = now() WHERE closes_at < $1 AND reports_dropped_at IS NULL RETURNING name`;

const NEXT = `
  SELECT task.name AS task, part.relname AS partition, pg_total_relation_size(part.oid) AS bytes,
    CASE WHEN inheritance.inhrelid IS NULL THEN 'detached'
         WHEN inheritance.inhdetachpending THEN 'detaching'
         ELSE 'attached' END AS state
  FROM tasks AS task
  JOIN pg_class AS part ON part.oid = to_regclass(quote_ident(report_partition(task.name)))
  LEFT JOIN pg_inherits AS inheritance ON inheritance.inhrelid = part.oid
  WHERE task.reports_dropped_at <= $1
  ORDER BY task.reports_dropped_at, task.name LIMIT 1`;

// One at a time over all processes: PostgreSQL detaches no two partitions of a table at once.
const LOCK = `hashtext('undertone/report-partitions')`;

/** The tables of the reports of single tasks, as far as they are deleted; written by collection-gateway. */
export class ReportPartitions {
  constructor(private readonly pool: Pool) {}

  /**
   * Says of tasks that closed before this time that their reports are being deleted: from now on none of them is added
   * and nothing is fitted on them. Resolves to the names of the tasks of which that is new. What was counted stays.
   */
  async expire(closedBefore: Date): Promise<string[]> {
    const { rows } = await this.pool.query<{ name: string }>(EXPIRE, [closedBefore]);
    return rows.map(({ name }) => name).sort();
  }

  /**
   * Deletes the reports of one task that was expired at or before this time, and says which; undefined when there is none, or
   * another process is at it. The other tasks' reports can be read and written meanwhile.
   *
   * Waits at most `lockTimeoutMs` for those who use the table, a new task at most as long for this. When that is not
   * enough it throws; the next call carries on, whatever was done before.
   */
  async dropOne(expiredBefore: Date, { lockTimeoutMs = 2_000 } = {}): Promise<DroppedReports | undefined> {
    const client = await this.pool.connect();
    let failure: Error | undefined;
    const lost = (error: Error): void => void (failure = error);
    client.on('error', lost);
    try {
      return await dropOn(client, expiredBefore, lockTimeoutMs);
    } catch (error) {
      failure ??= error as Error;
      throw error;
    } finally {
      if (failure === undefined) client.off('error', lost);
      // The end of a session gives its lock and its settings back.
      client.release(failure);
    }
  }
}

async function dropOn(
  client: PoolClient,
  expiredBefore: Date,
  lockTimeoutMs: number,
): Promise<DroppedReports | undefined> {
  const { rows: locks } = await client.query<{ taken: boolean }>(
    `SELECT pg_try_advisory_lock(${LOCK}) AS taken`,
  );
  if (!locks[0].taken) return undefined;
  await client.query(`SELECT set_config('lock_timeout', $1, false)`, [`${lockTimeoutMs}ms`]);
  const { rows } = await client.query<PartitionRow>(NEXT, [expiredBefore]);
  const next = rows.at(0);
  if (next !== undefined) await drop(client, next);
  await client.query('RESET lock_timeout');
  await client.query(`SELECT pg_advisory_unlock(${LOCK})`);
  return next && { task: next.task, bytes: Number(next.bytes) };
}

/** Statements of their own: none holds a lock for the next, and what one has done stays done. */
async function drop(client: PoolClient, { partition, state }: PartitionRow): Promise<void> {
  const table = escapeIdentifier(partition);
  if (state === 'attached') await client.query(`ALTER TABLE reports DETACH PARTITION ${table} CONCURRENTLY`);
  if (state === 'detaching') await client.query(`ALTER TABLE reports DETACH PARTITION ${table} FINALIZE`);
  await client.query(`DROP TABLE ${table}`);
}
