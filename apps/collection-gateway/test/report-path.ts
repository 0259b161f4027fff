import { encodeReport, encodeReports, type Report } from '@undertone/protocol';
import { type FailureListener, type ReportLog, type Subscription } from '@undertone/report-log';
import fc from 'fast-check';

import { consumerName, IngestConsumer } from '../src/ingest/ingest-consumer';
import { type EntrySink } from '../src/ingest/report-writer';
import { admitReports } from '../src/reports/report-admission';
import { type CrashPoint } from './crashing-pool';
import { impossiblePayload, sampleReport, sampleTask } from './sample-task';

/** What is in the tables. */
export interface Tables {
  /** `task/id` in hex → payload in hex. */
  readonly reports: Record<string, string>;
  /** `task/outcome` → count; zeros left out. */
  readonly counts: Record<string, number>;
  /** Reasons of the entries set aside, sorted. */
  readonly rejected: readonly string[];
}

/** A log and tables that outlive a gateway, empty at first. */
export interface PathUnderTest {
  openLog(onFailure: FailureListener): ReportLog;
  openSink(consumer: string): EntrySink;
  /** Loses the connection of an ingest to come. */
  crashIngest(point: CrashPoint | undefined): void;
  tables(): Promise<Tables>;
}

export type Operation =
  /** Devices send a batch; its answer may be lost, or it may never arrive. */
  | {
      readonly kind: 'send';
      readonly reports: readonly number[];
      readonly fate: 'answered' | 'unanswered' | 'lost';
    }
  /** Someone else writes to the log. */
  | { readonly kind: 'smuggle'; readonly entry: number }
  | { readonly kind: 'crash-ingest'; readonly point: CrashPoint }
  | { readonly kind: 'restart' }
  | { readonly kind: 'settle' };

const TASKS = [sampleTask('rain'), sampleTask('wind', { digit: 'b' })];

// Reports 0 to 5 are of one task, 6 to 8 of the other; 9 and 10 carry an id of the first with another body.
const REPORTS: Report[] = [
  ...[0, 1, 2, 3, 4, 5].map((number) => sampleReport(TASKS[0], number)),
  ...[0, 6, 7].map((number) => sampleReport(TASKS[1], number)),
  ...[0, 3].map((number) => sampleReport(TASKS[0], number)),
];

const SMUGGLED: { value: Uint8Array; reason: string; task?: string }[] = [
  { value: Buffer.from('not a report'), reason: 'malformed' },
  { value: encodeReport({ ...REPORTS[0], task: 'unknown' }), reason: 'wrong-task' },
  {
    value: encodeReport({ ...REPORTS[1], artifact: 'c'.repeat(64) }),
    reason: 'wrong-artifact',
    task: 'rain',
  },
  {
    value: encodeReport({ ...REPORTS[6], payload: impossiblePayload() }),
    reason: 'impossible-payload',
    task: 'wind',
  },
];

export const operations: fc.Arbitrary<Operation[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('send' as const),
        reports: fc.array(fc.nat(REPORTS.length - 1), { minLength: 1, maxLength: 8 }),
        fate: fc.constantFrom(
          'answered' as const,
          'answered' as const,
          'unanswered' as const,
          'lost' as const,
        ),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('smuggle' as const), entry: fc.nat(SMUGGLED.length - 1) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('crash-ingest' as const),
        point: fc.record({
          statement: fc.integer({ min: 1, max: 8 }),
          when: fc.constantFrom('before' as const, 'after' as const),
        }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('settle' as const) }) },
  ),
  { minLength: 1, maxLength: 15 },
);

/** Plays a history and compares the tables with what the history says must be in them. */
export async function playHistory(path: PathUnderTest, history: readonly Operation[]): Promise<void> {
  const expected = new Expectation();
  const gateway = new Gateway(path);
  try {
    for (const operation of history) await apply(operation, gateway, path, expected);
    path.crashIngest(undefined);
    await gateway.settle();
    expect(await path.tables()).toEqual(expected.tables());
  } finally {
    await gateway.stop();
  }
}

async function apply(
  operation: Operation,
  gateway: Gateway,
  path: PathUnderTest,
  expected: Expectation,
): Promise<void> {
  switch (operation.kind) {
    case 'send': {
      const reports = operation.reports.map((number) => REPORTS[number]);
      for (const task of TASKS) {
        const batch = reports.filter((report) => report.task === task.name);
        if (batch.length === 0 || operation.fate === 'lost') continue;
        const receipt = await admitReports(task, encodeReports(batch), 'application/cbor', {
          append: (records) => gateway.log.append(records),
          count: async () => undefined,
        });
        expect(receipt).toEqual({ accepted: batch.length, rejected: [] });
        batch.forEach((report) => expected.logged(report));
      }
      return;
    }
    case 'smuggle': {
      const { value, reason, task } = SMUGGLED[operation.entry];
      await gateway.log.append([{ key: Buffer.from('smuggled'), value }]);
      expected.setAside(reason, task);
      return;
    }
    case 'crash-ingest':
      return path.crashIngest(operation.point);
    case 'restart':
      return gateway.restart();
    case 'settle':
      return gateway.settle();
  }
}

class Gateway {
  log: ReportLog;
  private consumer: IngestConsumer;
  private subscription: Subscription;

  constructor(private readonly path: PathUnderTest) {
    ({ log: this.log, consumer: this.consumer, subscription: this.subscription } = this.start());
  }

  async restart(): Promise<void> {
    await this.stop();
    ({ log: this.log, consumer: this.consumer, subscription: this.subscription } = this.start());
  }

  async stop(): Promise<void> {
    await this.subscription.stop();
    await this.log.close();
  }

  async settle(): Promise<void> {
    const end = Date.now() + 10_000;
    while ((await this.log.lag(this.consumer)) > 0) {
      if (Date.now() > end) throw new Error('the ingest does not come to an end');
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  private start(): { log: ReportLog; consumer: IngestConsumer; subscription: Subscription } {
    const log = this.path.openLog(({ error }) => {
      if (!(error as Error).message.startsWith('crashed')) throw error;
    });
    const name = consumerName(log.name);
    const consumer = new IngestConsumer(
      name,
      this.path.openSink(name),
      async (task) => TASKS.find((known) => known.name === task),
      () => undefined,
    );
    return { log, consumer, subscription: log.subscribe(consumer) };
  }
}

/** What must be in the tables when nothing waits: worked out from the log's entries alone. */
class Expectation {
  private readonly reports = new Map<string, string>();
  private readonly counts = new Map<string, number>();
  private readonly rejected: string[] = [];

  logged(report: Report): void {
    const key = `${report.task}/${Buffer.from(report.id).toString('hex')}`;
    this.count(report.task, this.reports.has(key) ? 'repeated' : 'stored');
    if (!this.reports.has(key)) this.reports.set(key, Buffer.from(report.payload).toString('hex'));
  }

  setAside(reason: string, task: string | undefined): void {
    this.rejected.push(reason);
    if (task !== undefined) this.count(task, reason);
  }

  tables(): Tables {
    return {
      reports: Object.fromEntries(this.reports),
      counts: Object.fromEntries(this.counts),
      rejected: this.rejected.sort(),
    };
  }

  private count(task: string, outcome: string): void {
    const key = `${task}/${outcome}`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }
}
