import { type CheckedEntries } from '../src/ingest/entry-check';
import { type EntrySink } from '../src/ingest/report-writer';
import { type OutcomeTally } from '../src/counts/outcome-counts';

/** The slow, obvious twin of the tables: what a batch does, entry by entry, on maps. */
export class MemoryEntrySink implements EntrySink {
  readonly positions = new Map<number, bigint>();
  /** `task/id` in hex → payload in hex. */
  readonly reports = new Map<string, string>();
  readonly counts = new Map<string, number>();
  readonly rejected: string[] = [];
  crash: 'before' | 'after' | undefined;

  async positionOf(partition: number): Promise<bigint | undefined> {
    return this.positions.get(partition);
  }

  async write(partition: number, entries: CheckedEntries, last: bigint): Promise<OutcomeTally[]> {
    await new Promise((resolve) => setImmediate(resolve));
    this.crashIf('before');
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
      this.rejected.push(reason);
      if (task !== null) tallies.push({ task, outcome: reason, count: 1 });
    }
    for (const { task, outcome, count } of tallies) {
      const key = `${task}/${outcome}`;
      this.counts.set(key, (this.counts.get(key) ?? 0) + count);
    }
    if (last > position) this.positions.set(partition, last);
    this.crashIf('after');
    return tallies;
  }

  private crashIf(when: 'before' | 'after'): void {
    if (this.crash !== when) return;
    this.crash = undefined;
    throw new Error(`crashed ${when} the write`);
  }
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
