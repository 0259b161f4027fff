import { type CountsDocument, RejectionReason } from '@undertone/protocol';
import { type Pool, type PoolClient } from 'pg';

/** What can become of a report that reached the gateway. */
export type Outcome = 'stored' | 'repeated' | RejectionReason;

/** `count` more reports of a task met an outcome. */
export interface OutcomeTally {
  readonly task: string;
  readonly outcome: Outcome;
  readonly count: number;
}

/** So many entries met an outcome, whether their task is known or not. */
export type EntryOutcome = Pick<OutcomeTally, 'outcome' | 'count'>;

/** Rows that share one outcome's count, so that writers don't queue at one row. */
export const SHARDS = 16;

const ADD = `
  INSERT INTO outcome_counts (task, outcome, shard, count)
  SELECT tally.task, tally.outcome, $1, tally.count
  FROM unnest($2::text[], $3::text[], $4::bigint[]) AS tally (task, outcome, count)
  ON CONFLICT (task, outcome, shard) DO UPDATE SET count = outcome_counts.count + excluded.count`;

const READ = `
  SELECT outcome, sum(count)::text AS count FROM outcome_counts WHERE task = $1 GROUP BY outcome`;

/**
 * Adds tallies within the caller's transaction, or in one of their own on a pool. Tallies of one task and outcome
 * are summed, and rows are locked in one order, so that concurrent additions can't deadlock.
 */
export async function addOutcomes(
  sql: Pool | PoolClient,
  tallies: readonly OutcomeTally[],
  shard: number,
): Promise<void> {
  const sums = new Map<string, OutcomeTally>();
  for (const tally of tallies) {
    const key = `${tally.task}/${tally.outcome}`;
    sums.set(key, { ...tally, count: tally.count + (sums.get(key)?.count ?? 0) });
  }
  const rows = [...sums.keys()]
    .sort()
    .map((key) => sums.get(key)!)
    .filter(({ count }) => count > 0);
  if (rows.length === 0) return;
  await sql.query({
    name: 'outcome-counts-add',
    text: ADD,
    values: [
      shard,
      rows.map((row) => row.task),
      rows.map((row) => row.outcome),
      rows.map((row) => row.count),
    ],
  });
}

/** What became of a task's reports so far. */
export async function readOutcomes(pool: Pool, task: string): Promise<Omit<CountsDocument, 'waiting'>> {
  const { rows } = await pool.query<{ outcome: string; count: string }>(READ, [task]);
  const counts = new Map(rows.map(({ outcome, count }) => [outcome, Number(count)]));
  const rejected = RejectionReason.options
    .filter((reason) => counts.has(reason))
    .map((reason) => [reason, counts.get(reason)!]);
  return {
    task,
    stored: counts.get('stored') ?? 0,
    repeated: counts.get('repeated') ?? 0,
    rejected: Object.fromEntries(rejected) as CountsDocument['rejected'],
  };
}
