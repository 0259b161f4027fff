import { byteaArray, type LogPositions } from '@undertone/report-log';
import { inTransaction } from '@undertone/store';
import { type Pool, type PoolClient } from 'pg';

import { addOutcomes, type OutcomeTally, SHARDS } from '../counts/outcome-counts';
import { type CheckedEntries, type StorableEntry, type UnstorableEntry } from './entry-check';

const LOCK_POSITION = `
  SELECT log_offset FROM ingest_positions WHERE consumer = $1 AND partition = $2 FOR UPDATE`;

const CREATE_POSITION = `
  INSERT INTO ingest_positions (consumer, partition, log_offset) VALUES ($1, $2, -1) ON CONFLICT DO NOTHING`;

const ADVANCE_POSITION = `
  UPDATE ingest_positions SET log_offset = $3, updated_at = now() WHERE consumer = $1 AND partition = $2`;

const READ_POSITION = `SELECT log_offset FROM ingest_positions WHERE consumer = $1 AND partition = $2`;

// A batch names few tasks and artifacts: they are sent once, and each row points at its pair.
const INSERT_REPORTS = `
  WITH inserted AS (
    INSERT INTO reports (task, id, artifact, payload, received_at)
    SELECT ($1::text[])[row.pair], row.id, ($2::text[])[row.pair], row.payload, to_timestamp(row.at / 1e3)
    FROM unnest($3::int[], $4::bytea[], $5::bytea[], $6::float8[]) AS row (pair, id, payload, at)
    ON CONFLICT (task, id) DO NOTHING
    RETURNING task
  )
  SELECT task, count(*)::int AS count FROM inserted GROUP BY task`;

const INSERT_REJECTED = `
  INSERT INTO rejected_reports (partition, log_offset, task, reason, detail)
  SELECT $1, row.* FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[]) AS row
  ON CONFLICT (partition, log_offset) DO NOTHING`;

/** Where checked entries go: all effects of a batch and the position after it at once, or nothing. */
export interface EntrySink extends LogPositions {
  /**
   * Entries up to the stored position were dealt with before: they are passed over. `last` is the position after the
   * batch. Resolves to what was added to the counts.
   */
  write(partition: number, entries: CheckedEntries, last: bigint): Promise<OutcomeTally[]>;
}

/**
 * Puts a batch of checked log entries into the tables: reports, counts, rejected entries and the position that says
 * so, in one transaction. However often a batch comes and wherever a process dies, each entry counts once.
 */
export class ReportWriter implements EntrySink {
  /** @param consumer the name under which positions are kept: that of one log */
  constructor(
    private readonly pool: Pool,
    private readonly consumer: string,
  ) {}

  async positionOf(partition: number): Promise<bigint | undefined> {
    const { rows } = await this.pool.query<{ log_offset: string }>(READ_POSITION, [this.consumer, partition]);
    return rows.length === 0 ? undefined : BigInt(rows[0].log_offset);
  }

  async write(partition: number, entries: CheckedEntries, last: bigint): Promise<OutcomeTally[]> {
    return inTransaction(this.pool, async (transaction) => {
      const position = await this.lockPosition(transaction, partition);
      if (last <= position) return [];
      const isNew = ({ offset }: { offset: bigint }): boolean => offset > position;
      const unstorable = entries.unstorable.filter(isNew);
      const tallies = [
        ...(await insertReports(transaction, entries.storable.filter(isNew))),
        ...unstorable.flatMap(({ task, reason }) =>
          task === null ? [] : [{ task, outcome: reason, count: 1 }],
        ),
      ];
      await insertRejected(transaction, partition, unstorable);
      await addOutcomes(transaction, tallies, partition % SHARDS);
      await transaction.query({
        name: 'ingest-advance',
        text: ADVANCE_POSITION,
        values: [this.consumer, partition, last.toString()],
      });
      return tallies;
    });
  }

  private async lockPosition(transaction: PoolClient, partition: number): Promise<bigint> {
    const key = [this.consumer, partition];
    const lock = { name: 'ingest-lock', text: LOCK_POSITION, values: key };
    let { rows } = await transaction.query<{ log_offset: string }>(lock);
    if (rows.length === 0) {
      await transaction.query(CREATE_POSITION, key);
      ({ rows } = await transaction.query<{ log_offset: string }>(lock));
    }
    return BigInt(rows[0].log_offset);
  }
}

async function insertReports(
  transaction: PoolClient,
  entries: readonly StorableEntry[],
): Promise<OutcomeTally[]> {
  if (entries.length === 0) return [];
  const pairs = new Map<string, number>();
  const tasks: string[] = [];
  const artifacts: string[] = [];
  const valid = new Map<string, number>();
  const pairOf = entries.map(({ report: { task, artifact } }) => {
    valid.set(task, (valid.get(task) ?? 0) + 1);
    const key = `${task}/${artifact}`;
    if (!pairs.has(key)) {
      tasks.push(task);
      artifacts.push(artifact);
      pairs.set(key, tasks.length);
    }
    return pairs.get(key)!;
  });
  const { rows } = await transaction.query<{ task: string; count: number }>({
    name: 'ingest-reports',
    text: INSERT_REPORTS,
    values: [
      tasks,
      artifacts,
      pairOf,
      byteaArray(entries.map(({ report }) => report.id)),
      byteaArray(entries.map(({ report }) => report.payload)),
      entries.map(({ arrivedAt }) => arrivedAt.getTime()),
    ],
  });
  const stored = new Map(rows.map(({ task, count }) => [task, count]));
  return [...valid].flatMap(([task, count]) => [
    { task, outcome: 'stored', count: stored.get(task) ?? 0 },
    { task, outcome: 'repeated', count: count - (stored.get(task) ?? 0) },
  ]);
}

async function insertRejected(
  transaction: PoolClient,
  partition: number,
  entries: readonly UnstorableEntry[],
): Promise<void> {
  if (entries.length === 0) return;
  await transaction.query(INSERT_REJECTED, [
    partition,
    entries.map(({ offset }) => offset.toString()),
    entries.map(({ task }) => task),
    entries.map(({ reason }) => reason),
    entries.map(({ detail }) => detail),
  ]);
}
