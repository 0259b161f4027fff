import { type Pool } from 'pg';

import { type Tables } from './log-ledger';

/** Set as the application name of connections that are never cut. */
export const OBSERVER = 'observer';

/** Of the tasks that specs without the tasks' table write reports of. */
const PARTITIONS = ['rain', 'wind'];

export async function emptyTables(pool: Pool): Promise<void> {
  await pool.query('SELECT make_report_partition(task) FROM unnest($1::text[]) AS task', [PARTITIONS]);
  await pool.query(
    `TRUNCATE reports, outcome_counts, ingest_positions, rejected_reports, report_log_entries, report_log_partitions`,
  );
}

export async function readTables(pool: Pool): Promise<Tables> {
  const reports = await pool.query<{ key: string; payload: string }>(
    `SELECT task || '/' || encode(id, 'hex') AS key, encode(payload, 'hex') AS payload FROM reports`,
  );
  const counts = await pool.query<{ key: string; count: number }>(
    `SELECT task || '/' || outcome AS key, sum(count)::int AS count FROM outcome_counts GROUP BY task, outcome`,
  );
  const rejected = await pool.query<{ entry: string }>(
    `SELECT partition || '/' || log_offset || ' ' || reason AS entry FROM rejected_reports`,
  );
  return {
    reports: Object.fromEntries(reports.rows.map(({ key, payload }) => [key, payload])),
    counts: Object.fromEntries(counts.rows.map(({ key, count }) => [key, count])),
    rejected: rejected.rows.map(({ entry }) => entry).sort(),
  };
}

/** Ends all connections to the database but those of an observer, from its side. */
export async function cutConnections(observer: Pool): Promise<void> {
  await observer.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND backend_type = 'client backend' AND application_name <> $1`,
    [OBSERVER],
  );
}
