import { type Report } from '@undertone/protocol';
import { startTestDatabase, type TestDatabase } from '@undertone/store/testing';
import { Client, Pool } from 'pg';

import { CrashingPool } from '../../test/crashing-pool';
import { sampleReport, sampleTask } from '../../test/sample-task';
import { emptyTables, readTables } from '../../test/tables';
import { type CheckedEntries } from './entry-check';
import { ReportWriter } from './report-writer';

let database: TestDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await startTestDatabase();
  pool = new Pool({ connectionString: database.url, max: 8 });
});
beforeEach(() => emptyTables(pool));
afterAll(async () => {
  await pool.end();
  await database.stop();
});

const rain = sampleTask('rain');
const wind = sampleTask('wind', { digit: 'b' });
const arrivedAt = new Date('2024-03-01T12:34:56.789Z');

const storable = (offset: number, report: Report): CheckedEntries['storable'][number] => ({
  offset: BigInt(offset),
  arrivedAt,
  report,
});

/** Offsets 0 to 6: four reports of two tasks, one of them twice in the batch, and two entries to set aside. */
const batch: CheckedEntries = {
  storable: [
    storable(0, sampleReport(rain, 1)),
    storable(1, sampleReport(wind, 1)),
    storable(2, sampleReport(rain, 2)),
    storable(4, sampleReport(rain, 1)),
    storable(6, sampleReport(rain, 3)),
  ],
  unstorable: [
    { offset: 3n, task: null, reason: 'malformed', detail: 'rule' },
    { offset: 5n, task: 'rain', reason: 'impossible-payload', detail: 'rule' },
  ],
};
const LAST = 6n;
const counts = { 'rain/stored': 3, 'rain/repeated': 1, 'rain/impossible-payload': 1, 'wind/stored': 1 };

it('writes reports, counts, entries set aside and the position', async () => {
  const writer = new ReportWriter(pool, 'ingest');
  expect(await writer.positionOf(0)).toBeUndefined();
  expect(await writer.write(0, batch, LAST)).toEqual(
    expect.arrayContaining([
      { task: 'rain', outcome: 'stored', count: 3 },
      { task: 'rain', outcome: 'repeated', count: 1 },
      // Of no task, so no task's count holds it.
      { outcome: 'malformed', count: 1 },
    ]),
  );
  const tables = await readTables(pool);
  expect(tables.counts).toEqual(counts);
  expect(tables.rejected).toEqual(['0/3 malformed', '0/5 impossible-payload']);
  expect(Object.keys(tables.reports)).toHaveLength(4);
  expect(await writer.positionOf(0)).toBe(LAST);
  const { rows } = await pool.query(`SELECT * FROM reports WHERE task = 'wind'`);
  const { report } = batch.storable[1];
  expect(rows).toEqual([
    {
      task: 'wind',
      id: Buffer.from(report.id),
      artifact: wind.artifact,
      payload: Buffer.from(report.payload),
      received_at: arrivedAt,
    },
  ]);
});

it('the first body of an id stands, within a batch and after it', async () => {
  const writer = new ReportWriter(pool, 'ingest');
  await writer.write(0, batch, LAST);
  const other = { storable: [storable(7, sampleReport(rain, 2))], unstorable: [] };
  await writer.write(0, other, 7n);
  const { reports, counts: after } = await readTables(pool);
  const of = (report: Report): string => `rain/${Buffer.from(report.id).toString('hex')}`;
  for (const { report } of [batch.storable[0], batch.storable[2]]) {
    expect(reports[of(report)]).toBe(Buffer.from(report.payload).toString('hex'));
  }
  expect(after['rain/repeated']).toBe(2);
});

it('passes over entries up to the position: of a batch that comes again, all; of one that overlaps, some', async () => {
  const writer = new ReportWriter(pool, 'ingest');
  await writer.write(0, batch, LAST);
  expect(await writer.write(0, batch, LAST)).toEqual([]);
  const longer = { ...batch, storable: [...batch.storable, storable(7, sampleReport(wind, 2))] };
  expect(await writer.write(0, longer, 7n)).toEqual([
    { task: 'wind', outcome: 'stored', count: 1 },
    { task: 'wind', outcome: 'repeated', count: 0 },
  ]);
  expect((await readTables(pool)).counts).toEqual({ ...counts, 'wind/stored': 2 });
});

it('a batch that ends before the position, of a process that is late, never moves it back', async () => {
  const writer = new ReportWriter(pool, 'ingest');
  await writer.write(0, batch, LAST);
  const late = { storable: batch.storable.slice(0, 2), unstorable: [] };
  expect(await new ReportWriter(pool, 'ingest').write(0, late, 1n)).toEqual([]);
  expect(await writer.positionOf(0)).toBe(LAST);
});

it('positions of partitions and of consumers are apart', async () => {
  await new ReportWriter(pool, 'one').write(0, batch, LAST);
  await new ReportWriter(pool, 'one').write(1, batch, LAST);
  await new ReportWriter(pool, 'two').write(0, batch, LAST);
  const { counts: sums } = await readTables(pool);
  expect(sums['rain/stored']).toBe(3);
  expect(sums['rain/repeated']).toBe(1 + 4 + 4);
});

it.each(['a new', 'a known'])('processes with the same batch of %s consumer count it once', async (which) => {
  if (which === 'a known') {
    await pool.query(
      `INSERT INTO ingest_positions (consumer, partition, log_offset) VALUES ('ingest', 0, -1)`,
    );
  }
  const writers = Array.from({ length: 4 }, () => new ReportWriter(pool, 'ingest'));
  await Promise.all(writers.map((writer) => writer.write(0, batch, LAST)));
  expect((await readTables(pool)).counts).toEqual(counts);
});

it('of a batch with a report that the table has, the others are stored', async () => {
  const writer = new ReportWriter(pool, 'ingest');
  await writer.write(1, { storable: [storable(0, sampleReport(rain, 2))], unstorable: [] }, 0n);
  expect(await writer.write(0, batch, LAST)).toEqual(
    expect.arrayContaining([
      { task: 'rain', outcome: 'stored', count: 2 },
      { task: 'rain', outcome: 'repeated', count: 2 },
      { task: 'wind', outcome: 'stored', count: 1 },
    ]),
  );
  expect((await readTables(pool)).counts).toEqual({ ...counts, 'rain/repeated': 2 });
});

it('repeats after a repeat make no copy fail', async () => {
  const writer = new ReportWriter(pool, 'ingest');
  const some = [storable(0, sampleReport(rain, 1)), storable(1, sampleReport(rain, 2))];
  const at = (offset: number): CheckedEntries => ({
    storable: some.map(({ report }, i) => storable(offset + i, report)),
    unstorable: [],
  });
  const statements = jest.spyOn(Client.prototype, 'query');
  const failed = (): number =>
    statements.mock.calls.filter(([text]) => (text as unknown) === 'ROLLBACK').length;
  try {
    await writer.write(0, at(0), 1n);
    expect(failed()).toBe(0);
    for (let offset = 2; offset < 20; offset += 2) {
      await writer.write(0, at(offset), BigInt(offset + 1));
      expect(failed()).toBe(1);
    }
  } finally {
    statements.mockRestore();
  }
  expect((await readTables(pool)).counts).toEqual({ 'rain/stored': 2, 'rain/repeated': 18 });
});

it('processes that are given the same reports in different partitions store each once', async () => {
  const reports = Array.from({ length: 300 }, (_, i) => sampleReport(rain, i));
  const shuffled = (by: number): CheckedEntries => ({
    storable: reports.map((_, i) => storable(i, reports[(i * by) % reports.length])),
    unstorable: [],
  });
  await Promise.all(
    [1, 7, 11, 13].map((by, partition) =>
      new ReportWriter(pool, 'ingest').write(partition, shuffled(by), 299n),
    ),
  );
  const tables = await readTables(pool);
  expect(tables.counts).toEqual({ 'rain/stored': 300, 'rain/repeated': 900 });
  expect(Object.keys(tables.reports)).toHaveLength(300);
});

/** The copy that finds a report in the table, and its rollback: the batch is begun anew in any case. */
const REFUSED = ['after 5', 'before 6', 'after 6'];

describe.each([
  ['none', [], counts, 8, []],
  ['one', [storable(0, sampleReport(rain, 1))], { ...counts, 'rain/repeated': 2 }, 13, REFUSED],
] as const)('a batch of which the table has %s', (_, known, after, statements, unharmed) => {
  it('is in the tables once when it has come again, wherever the connection was lost', async () => {
    const crashing = new CrashingPool(pool);
    const survived: string[] = [];
    const stillWritten: string[] = [];
    for (let statement = 1; ; statement++) {
      for (const when of ['before', 'after'] as const) {
        const place = `${when} ${statement}`;
        await emptyTables(pool);
        await new ReportWriter(pool, 'ingest').write(1, { storable: known, unstorable: [] }, 0n);
        const writer = new ReportWriter(crashing.asPool(), 'ingest');
        crashing.crashAt({ statement, when });
        const written = await writer.write(0, batch, LAST).then(
          () => 'written',
          () => 'failed',
        );
        if (crashing.isArmed) {
          // No such statement: the batch went through, and every earlier place has been tried.
          expect(written).toBe('written');
          expect(statement).toBeGreaterThan(statements);
          expect(survived).toHaveLength(1);
          expect(stillWritten).toEqual(unharmed);
          return;
        }
        if (written === 'written') stillWritten.push(place);
        else if ((await new ReportWriter(pool, 'ingest').positionOf(0)) === LAST) survived.push(place);
        await writer.write(0, batch, LAST);
        const tables = await readTables(pool);
        expect(tables.counts).toEqual(after);
        expect(Object.keys(tables.reports)).toHaveLength(4);
        expect(tables.rejected).toHaveLength(2);
      }
    }
  });
});
