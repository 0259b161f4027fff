import { type OutcomeTally } from '../src/counts/outcome-counts';
import { type CheckedEntries } from '../src/ingest/entry-check';
import { type EntrySink } from '../src/ingest/report-writer';
import { type CrashPlan } from './crash-plan';
import { type Tables } from './log-ledger';
import { type SimulatedProcess } from './simulated-process';

/** The slow, obvious twin of the tables: what a batch does, entry by entry, on maps. */
export class MemoryTables {
  readonly positions = new Map<number, bigint>();
  private readonly reports = new Map<string, string>();
  private readonly counts = new Map<string, number>();
  private readonly rejected: string[] = [];
  /** Transactions end with the connections that they began on. */
  connections = 0;

  commit(partition: number, entries: CheckedEntries, last: bigint): OutcomeTally[] {
    const position = this.positions.get(partition) ?? -1n;
    const tallies: OutcomeTally[] = [];
    for (const { offset, report } of entries.storable) {
      if (offset <= position) continue;
      const key = `${report.task}/${hex(report.id)}`;
      const isNew = !this.reports.has(key);
      if (isNew) this.reports.set(key, hex(report.payload));
      tallies.push({ task: report.task, outcome: isNew ? 'stored' : 'repeated', count: 1 });
    }
    for (const { offset, task, reason } of entries.unstorable) {
      if (offset <= position) continue;
      this.rejected.push(`${partition}/${offset} ${reason}`);
      if (task !== null) tallies.push({ task, outcome: reason, count: 1 });
    }
    for (const { task, outcome, count } of tallies) {
      const key = `${task}/${outcome}`;
      this.counts.set(key, (this.counts.get(key) ?? 0) + count);
    }
    if (last > position) this.positions.set(partition, last);
    return tallies;
  }

  read(): Tables {
    return {
      reports: Object.fromEntries(this.reports),
      counts: Object.fromEntries(this.counts),
      rejected: [...this.rejected].sort(),
    };
  }
}

const STATEMENTS = 4;

/** A gateway's way to the tables: a transaction of some statements, of which the last one commits. */
export class MemoryEntrySink implements EntrySink {
  constructor(
    private readonly tables: MemoryTables,
    private readonly plan: CrashPlan,
    private readonly process: SimulatedProcess,
  ) {}

  async positionOf(partition: number): Promise<bigint | undefined> {
    this.checkConnection(this.tables.connections);
    return this.tables.positions.get(partition);
  }

  async write(partition: number, entries: CheckedEntries, last: bigint): Promise<OutcomeTally[]> {
    const { connections } = this.tables;
    let tallies: OutcomeTally[] = [];
    for (let statement = 1; statement <= STATEMENTS; statement++) {
      await new Promise((resolve) => setImmediate(resolve));
      this.checkConnection(connections);
      const crash = this.plan.reach('statement');
      if (crash === undefined || crash.when === 'after') {
        if (statement === STATEMENTS) tallies = this.tables.commit(partition, entries, last);
      }
      if (crash?.loses === 'process') this.process.kill();
      if (crash !== undefined) throw new Error('crashed here');
    }
    return tallies;
  }

  private checkConnection(connections: number): void {
    if (!this.process.alive || connections !== this.tables.connections)
      throw new Error('the connection is lost');
  }
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
