import { type Report } from '@undertone/protocol';
import { startTestDatabase, type TestDatabase } from '@undertone/store/testing';
import { Pool } from 'pg';

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

it('wherever the connection is lost, the batch is in the tables once when it has come again', async () => {
  const crashing = new CrashingPool(pool);
  const writer = new ReportWriter(crashing.asPool(), 'ingest');
  const survived: string[] = [];
  for (let statement = 1; ; statement++) {
    for (const when of ['before', 'after'] as const) {
      await emptyTables(pool);
      crashing.crashAt({ statement, when });
      const written = await writer.write(0, batch, LAST).then(
        () => 'written',
        () => 'failed',
      );
      if (crashing.isArmed) {
        // No such statement: the batch went through, and every earlier place has been tried.
        expect(written).toBe('written');
        expect(statement).toBeGreaterThan(8);
        expect(survived).toHaveLength(1);
        return;
      }
      expect(written).toBe('failed');
      if ((await new ReportWriter(pool, 'ingest').positionOf(0)) === LAST)
        survived.push(`${when} ${statement}`);
      await writer.write(0, batch, LAST);
      const tables = await readTables(pool);
      expect(tables.counts).toEqual(counts);
      expect(Object.keys(tables.reports)).toHaveLength(4);
      expect(tables.rejected).toHaveLength(2);
    }
  }
});
