import { type LogPositions } from '@undertone/report-log';
import { inTransaction } from '@undertone/store';
import { type Pool, type PoolClient } from 'pg';

import { addOutcomes, type EntryOutcome, type OutcomeTally, SHARDS } from '../counts/outcome-counts';
import { type CheckedEntries, type StorableEntry, type UnstorableEntry } from './entry-check';
import { consumerName } from './ingest-consumer';
import { RepeatWatch } from './repeat-watch';
import { addMissingReports, addNewReports, type AddReports, isKnownReport } from './report-table';

const LOCK_POSITION = `
  SELECT log_offset FROM ingest_positions WHERE consumer = $1 AND partition = $2 FOR UPDATE`;

const CREATE_POSITION = `
  INSERT INTO ingest_positions (consumer, partition, log_offset) VALUES ($1, $2, -1) ON CONFLICT DO NOTHING`;

const ADVANCE_POSITION = `
  UPDATE ingest_positions SET log_offset = $3, updated_at = now() WHERE consumer = $1 AND partition = $2`;

const READ_POSITION = `SELECT log_offset FROM ingest_positions WHERE consumer = $1 AND partition = $2`;

const INSERT_REJECTED = `
  INSERT INTO rejected_reports (log, partition, log_offset, task, reason, detail)
  SELECT $1, $2, row.* FROM unnest($3::bigint[], $4::text[], $5::text[], $6::text[]) AS row
  ON CONFLICT (log, partition, log_offset) DO NOTHING`;

/** The first time, a report was in the table; each further time, another transaction has just won one. */
const MAXIMUM_ATTEMPTS = 10;

/** Where checked entries go: all effects of a batch and the position after it at once, or nothing. */
export interface EntrySink extends LogPositions {
  /**
   * Entries up to the stored position were dealt with before: they are passed over. `last` is the position after the
   * batch. Resolves to what became of the others.
   */
  write(partition: number, entries: CheckedEntries, last: bigint): Promise<EntryOutcome[]>;
}

/**
 * Puts a batch of checked log entries into the tables: reports, counts, rejected entries and the position that says
 * so, in one transaction. However often a batch comes and wherever a process dies, each entry counts once.
 */
export class ReportWriter implements EntrySink {
  private readonly consumer: string;
  private readonly repeats = new RepeatWatch();

  /**
   * @param log the log's name: positions and rejected entries belong to a log
   * @param rejected called when a batch has set entries aside, once it is committed
   */
  constructor(
    private readonly pool: Pool,
    private readonly log: string,
    private readonly rejected: () => void = () => undefined,
  ) {
    this.consumer = consumerName(log);
  }

  async positionOf(partition: number): Promise<bigint | undefined> {
    const { rows } = await this.pool.query<{ log_offset: string }>(READ_POSITION, [this.consumer, partition]);
    return rows.length === 0 ? undefined : BigInt(rows[0].log_offset);
  }

  async write(partition: number, entries: CheckedEntries, last: bigint): Promise<EntryOutcome[]> {
    for (let attempt = 1; ; attempt++) {
      const add = this.repeats.expectsRepeats(partition) ? addMissingReports : addNewReports;
      try {
        const outcomes = await this.writeOnce(partition, entries, last, add);
        this.learn(partition, outcomes);
        return outcomes;
      } catch (error) {
        if (!isKnownReport(error) || attempt === MAXIMUM_ATTEMPTS) throw error;
        this.repeats.repeated(partition);
      }
    }
  }

  /** What the outcomes say of repeats; those within the batch count as well. */
  private learn(partition: number, outcomes: readonly EntryOutcome[]): void {
    if (!this.repeats.expectsRepeats(partition)) return;
    const sum = (of: OutcomeTally['outcome']): number =>
      outcomes.reduce((total, { outcome, count }) => (outcome === of ? total + count : total), 0);
    if (sum('repeated') > 0) this.repeats.repeated(partition);
    else this.repeats.wereNew(partition, sum('stored'));
  }

  private async writeOnce(
    partition: number,
    entries: CheckedEntries,
    last: bigint,
    add: AddReports,
  ): Promise<EntryOutcome[]> {
    let unstorable: UnstorableEntry[] = [];
    const tallies = await inTransaction(this.pool, async (transaction) => {
      const position = await this.lockPosition(transaction, partition);
      if (last <= position) return [];
      const isNew = ({ offset }: { offset: bigint }): boolean => offset > position;
      unstorable = entries.unstorable.filter(isNew);
      const tallies = [
        ...(await addStorable(transaction, entries.storable.filter(isNew), add)),
        ...unstorable.flatMap(({ task, reason }) =>
          task === null ? [] : [{ task, outcome: reason, count: 1 }],
        ),
      ];
      await this.insertRejected(transaction, partition, unstorable);
      await addOutcomes(transaction, tallies, partition % SHARDS);
      await transaction.query({
        name: 'ingest-advance',
        text: ADVANCE_POSITION,
        values: [this.consumer, partition, last.toString()],
      });
      return tallies;
    });
    if (unstorable.length > 0) this.rejected();
    const ofNoTask = unstorable.filter(({ task }) => task === null);
    return [...tallies, ...ofNoTask.map(({ reason }) => ({ outcome: reason, count: 1 }))];
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

  private async insertRejected(
    transaction: PoolClient,
    partition: number,
    entries: readonly UnstorableEntry[],
  ): Promise<void> {
    if (entries.length === 0) return;
    await transaction.query(INSERT_REJECTED, [
      this.log,
      partition,
      entries.map(({ offset }) => offset.toString()),
      entries.map(({ task }) => task),
      entries.map(({ reason }) => reason),
      entries.map(({ detail }) => detail),
    ]);
  }
}

async function addStorable(
  transaction: PoolClient,
  entries: readonly StorableEntry[],
  add: AddReports,
): Promise<OutcomeTally[]> {
  const valid = new Map<string, number>();
  for (const { report } of entries) valid.set(report.task, (valid.get(report.task) ?? 0) + 1);
  const added = await add(transaction, entries);
  return [...valid].flatMap(([task, count]) => [
    { task, outcome: 'stored', count: added.get(task)! },
    { task, outcome: 'repeated', count: count - added.get(task)! },
  ]);
}
