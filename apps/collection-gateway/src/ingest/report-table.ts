import { byteaArray } from '@undertone/report-log';
import { type PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

import { type StorableEntry } from './entry-check';
import { distinctReports, encodeRows } from './report-rows';

// The array is hidden from the planner, which would weigh each of thousands of ids. The task isn't, so that the plan is
// of its partition alone; and for that the statement has no name: a plan that is kept is of every partition.
const FIND = `SELECT id FROM reports WHERE task = $1 AND id = ANY ((SELECT $2::bytea[])::bytea[])`;

const COPY = `COPY reports (task, id, artifact, payload, received_at) FROM STDIN WITH (FORMAT binary)`;

const UNIQUE_VIOLATION = '23505';

/**
 * Adds the reports that the table doesn't have, of several under one id the first, and resolves to how many of each
 * task those were.
 *
 * The table is asked which it has, and the others are copied straight into it: for the database, half the work of
 * INSERT … ON CONFLICT from a staging table. Where another transaction adds one of them meanwhile, this one fails with
 * an error that `isLostRace` knows; begun anew, it finds that report in the table.
 */
export async function addReports(
  transaction: PoolClient,
  entries: readonly StorableEntry[],
): Promise<ReadonlyMap<string, number>> {
  const added: StorableEntry[][] = [];
  const counts = new Map<string, number>();
  for (const [task, reports] of distinctReports(entries)) {
    const missing = await missingReports(transaction, task, reports);
    counts.set(task, missing.length);
    added.push(missing);
  }
  const rows = added.flat();
  if (rows.length > 0) await copyIn(transaction, encodeRows(rows));
  return counts;
}

export const isLostRace = (error: unknown): boolean =>
  (error as { code?: unknown } | undefined)?.code === UNIQUE_VIOLATION;

async function missingReports(
  transaction: PoolClient,
  task: string,
  reports: StorableEntry[],
): Promise<StorableEntry[]> {
  const ids = byteaArray(reports.map(({ report }) => report.id));
  const { rows } = await transaction.query<{ id: Buffer }>(FIND, [task, ids]);
  if (rows.length === 0) return reports;
  const stored = new Set(rows.map(({ id }) => id.toString('latin1')));
  return reports.filter(({ report: { id } }) => !stored.has(Buffer.from(id).toString('latin1')));
}

function copyIn(transaction: PoolClient, rows: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const copy = transaction.query(copyFrom(COPY));
    // It may fail more than once: by the server's answer, and then because it can't go on.
    copy.on('error', reject);
    copy.on('finish', resolve);
    copy.end(rows);
  });
}
