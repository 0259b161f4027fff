import { encodeReport, type Report, REPORT_SCHEMA } from '@undertone/protocol';

import { type Verdict } from './sample-entries';

/** An entry as the log has it, read without the code under test where that can be. */
export interface LoggedEntry {
  readonly partition: number;
  readonly offset: bigint;
  readonly value: Uint8Array;
  readonly schema: string | undefined;
}

/** What is in the tables. */
export interface Tables {
  /** `task/id` in hex → payload in hex. */
  readonly reports: Readonly<Record<string, string>>;
  /** `task/outcome` → count; zeros left out. */
  readonly counts: Readonly<Record<string, number>>;
  /** `partition/offset reason` of each entry set aside, sorted. */
  readonly rejected: readonly string[];
}

/** One call that asks the log to take records. */
export interface Append {
  readonly begun: number;
  /** When it was acknowledged. */
  acked?: number;
}

interface SentRecord {
  readonly verdict: Verdict;
  /** One for each time that the record stands in an append. */
  readonly appends: Append[];
}

/**
 * What was sent and acknowledged, and what that says about the log; and what the log says about the tables. An append
 * that was refused, or never answered, may be in the log as a whole, in part or not at all.
 */
export class LogLedger {
  private readonly records = new Map<string, SentRecord>();
  private readonly entries = new Map<string, LoggedEntry>();
  private now = 0;

  /** @param repeats whether the log may write an unacknowledged record several times, while its server is away */
  constructor(private readonly repeats: 'never' | 'when broken') {}

  /** Whether the log's server has been away. */
  wasBroken = false;

  begin(
    records: readonly { value: Uint8Array | null; schema: string | undefined; verdict: Verdict }[],
  ): Append {
    const append: Append = { begun: ++this.now };
    for (const { value, schema, verdict } of records) {
      const name = nameOf(value ?? new Uint8Array(0), schema);
      const known = this.records.get(name);
      if (known === undefined) this.records.set(name, { verdict, appends: [append] });
      else known.appends.push(append);
    }
    return append;
  }

  acknowledge(append: Append): void {
    append.acked = ++this.now;
  }

  /** Takes in what the log holds now; entries that it has forgotten since stay. */
  read(entries: readonly LoggedEntry[]): void {
    for (const entry of entries) this.entries.set(`${entry.partition}/${entry.offset}`, entry);
  }

  /** The last offset of a partition that `read` has met. */
  lastRead(partition: number): bigint {
    return this.inOrder().reduce(
      (last, entry) => (entry.partition === partition && entry.offset > last ? entry.offset : last),
      -1n,
    );
  }

  /** Everything acknowledged is in the log, and nothing that wasn't sent, nor oftener. */
  checkLog(): void {
    const found = new Map<string, number>();
    for (const { value, schema } of this.entries.values()) {
      const name = nameOf(value, schema);
      if (!this.records.has(name)) throw new Error(`the log holds what nobody sent: ${name}`);
      found.set(name, (found.get(name) ?? 0) + 1);
    }
    for (const [name, { appends }] of this.records) {
      const times = found.get(name) ?? 0;
      const acked = appends.filter((append) => append.acked !== undefined).length;
      if (times < acked)
        throw new Error(`acknowledged ${acked} times and in the log ${times} times: ${name}`);
      const mayRepeat = this.repeats === 'when broken' && this.wasBroken;
      if (times > appends.length && !mayRepeat) {
        throw new Error(`sent ${appends.length} times and in the log ${times} times: ${name}`);
      }
    }
  }

  /** The tables are what the log's entries make of them, each counted once. */
  checkTables(tables: Tables): void {
    const bodies = new Map<string, Map<number, string>>();
    const counts = new Map<string, number>();
    const rejected: string[] = [];
    const count = (task: string, outcome: string): void => {
      counts.set(`${task}/${outcome}`, (counts.get(`${task}/${outcome}`) ?? 0) + 1);
    };
    for (const { partition, offset, value, schema } of this.inOrder()) {
      const { verdict } = this.records.get(nameOf(value, schema))!;
      if ('reason' in verdict) {
        rejected.push(`${partition}/${offset} ${verdict.reason}`);
        if (verdict.task !== null) count(verdict.task, verdict.reason);
        continue;
      }
      const { report } = verdict;
      const name = idOf(report);
      count(report.task, bodies.has(name) ? 'repeated' : 'stored');
      const first = bodies.get(name) ?? new Map<number, string>();
      if (!first.has(partition)) first.set(partition, hex(report.payload));
      bodies.set(name, first);
    }
    expect(Object.keys(tables.reports).sort()).toEqual([...bodies.keys()].sort());
    for (const [name, payload] of Object.entries(tables.reports)) {
      // Under a key of its own, a body may be in a partition of its own: then either of the two first ones may win.
      const allowed = [...bodies.get(name)!.values()];
      if (!allowed.includes(payload)) {
        throw new Error(`stored of ${name}: ${payload}; first in the log: ${allowed.join(' or ')}`);
      }
      if (allowed.length === 1) this.checkFirst(name, payload);
    }
    expect(tables.counts).toEqual(Object.fromEntries(counts));
    expect(tables.rejected).toEqual(rejected.sort());
  }

  /** A body that was first sent after another of the same id was acknowledged can't have come first. */
  private checkFirst(name: string, payload: string): void {
    let sent = Infinity;
    let acked = Infinity;
    for (const { verdict, appends } of this.records.values()) {
      if (!('report' in verdict) || idOf(verdict.report) !== name) continue;
      for (const append of appends) {
        acked = Math.min(acked, append.acked ?? Infinity);
        if (hex(verdict.report.payload) === payload) sent = Math.min(sent, append.begun);
      }
    }
    if (sent > acked) throw new Error(`a later body of ${name} came before one that was acknowledged`);
  }

  private inOrder(): LoggedEntry[] {
    return [...this.entries.values()].sort(
      (a, b) => a.partition - b.partition || Number(a.offset - b.offset),
    );
  }
}

/** A report as the gateway appends it. */
export const gatewayRecord = (report: Report): { value: Uint8Array; schema: string; verdict: Verdict } => ({
  value: encodeReport(report),
  schema: REPORT_SCHEMA,
  verdict: { report },
});

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const idOf = ({ task, id }: Report): string => `${task}/${hex(id)}`;

const nameOf = (value: Uint8Array, schema: string | undefined): string =>
  `${schema ?? 'no schema'}/${value.length > 2_000 ? `${value.length} bytes` : hex(value)}`;
