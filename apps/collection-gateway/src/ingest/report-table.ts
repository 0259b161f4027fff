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

/** Adds reports, of several under one id the first, and resolves to how many of each task were added. */
export type AddReports = (
  transaction: PoolClient,
  entries: readonly StorableEntry[],
) => Promise<ReadonlyMap<string, number>>;

/**
 * Adds reports of which the table has none: two thirds of the work of `addMissingReports`. If it has one, or gets one from
 * another transaction meanwhile, this transaction fails with an error that `isKnownReport` knows.
 */
export const addNewReports: AddReports = (transaction, entries) =>
  copyReports(transaction, distinctReports(entries));

/**
 * Adds the reports that the table doesn't have.
 *
 * The table is asked which it has, and the others are copied straight into it: for the database, half the work of
 * INSERT … ON CONFLICT from a staging table. Where another transaction adds one of them meanwhile, this one fails with
 * an error that `isKnownReport` knows; begun anew, it finds that report in the table.
 */
export const addMissingReports: AddReports = async (transaction, entries) => {
  const missing = new Map<string, readonly StorableEntry[]>();
  for (const [task, reports] of distinctReports(entries)) {
    missing.set(task, await missingReports(transaction, task, reports));
  }
  return copyReports(transaction, missing);
};

export const isKnownReport = (error: unknown): boolean =>
  (error as { code?: unknown } | undefined)?.code === UNIQUE_VIOLATION;

async function missingReports(
  transaction: PoolClient,
  task: string,
  reports: readonly StorableEntry[],
): Promise<readonly StorableEntry[]> {
  const ids = byteaArray(reports.map(({ report }) => report.id));
  const { rows } = await transaction.query<{ id: Buffer }>(FIND, [task, ids]);
  if (rows.length === 0) return reports;
  const stored = new Set(rows.map(({ id }) => id.toString('latin1')));
  return reports.filter(({ report: { id } }) => !stored.has(Buffer.from(id).toString('latin1')));
}

async function copyReports(
  transaction: PoolClient,
  tasks: ReadonlyMap<string, readonly StorableEntry[]>,
): Promise<ReadonlyMap<string, number>> {
  const rows = [...tasks.values()].flat();
  if (rows.length > 0) await copyIn(transaction, encodeRows(rows));
  return new Map([...tasks].map(([task, { length }]) => [task, length]));
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
