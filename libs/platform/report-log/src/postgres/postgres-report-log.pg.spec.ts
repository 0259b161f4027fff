import { startTestDatabase, type TestDatabase } from '@undertone/store/testing';
import { Pool } from 'pg';

import { describeReportLog, eventually, record, RecordingConsumer } from '../../testing/report-log-contract';
import { byteaArray } from './bytea-array';
import { PostgresReportLog, type PostgresReportLogSettings } from './postgres-report-log';

let database: TestDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await startTestDatabase();
  pool = new Pool({ connectionString: database.url, max: 12 });
  pool.on('error', () => undefined);
});
afterAll(async () => {
  await pool.end();
  await database.stop();
});

const empty = async (): Promise<void> => {
  await pool.query('TRUNCATE report_log_entries, report_log_partitions');
};

describeReportLog('PostgreSQL', async () => {
  await empty();
  return {
    open: (settings) => new PostgresReportLog({ pool, ...settings }),
    dispose: async () => undefined,
  };
});

describe('PostgreSQL report log', () => {
  let opened: PostgresReportLog[] = [];
  const open = (settings: Partial<PostgresReportLogSettings> = {}): PostgresReportLog => {
    const log = new PostgresReportLog({ pool, onFailure: () => undefined, idleMs: [1, 5], ...settings });
    opened.push(log);
    return log;
  };

  beforeEach(empty);
  afterEach(async () => {
    await Promise.all(opened.map((log) => log.close()));
    opened = [];
  });

  it('shares one INSERT among appends that come while another is under way', async () => {
    const log = open();
    await Promise.all(Array.from({ length: 200 }, (_, i) => log.append([record(`${i}`)])));
    const { rows } = await pool.query(
      'SELECT count(DISTINCT appended_at)::int AS statements, count(*)::int AS entries FROM report_log_entries',
    );
    expect(rows[0].entries).toBe(200);
    expect(rows[0].statements).toBeLessThan(5);
  });

  it('a slow writer’s entries are not passed over by a reader that sees a quick one’s', async () => {
    await pool.query(`
      CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END';
      CREATE TRIGGER dawdle BEFORE INSERT ON report_log_entries
        FOR EACH ROW WHEN (NEW.value = 'slow'::bytea) EXECUTE FUNCTION dawdle()`);
    const [slow, quick, reader] = [open(), open(), open()];
    const consumer = new RecordingConsumer();
    reader.subscribe(consumer);
    await quick.append([record('first')]);
    const late = slow.append([record('slow')]);
    await new Promise((resolve) => setTimeout(resolve, 30));
    await Promise.all([late, quick.append([record('quick')])]);
    await eventually('three entries', () => consumer.values.length === 3);
    await pool.query('DROP FUNCTION dawdle CASCADE');
  });

  it('cuts a batch by bytes, but never below one entry', async () => {
    const log = open({ maximumBatchBytes: 1000 });
    await log.append([400, 400, 400, 5000, 10, 10].map((bytes) => record('x'.repeat(bytes), 'key')));
    const consumer = new RecordingConsumer();
    log.subscribe(consumer);
    await eventually('six entries', () => consumer.values.length === 6);
    expect(consumer.batches.map((batch) => batch.entries.map(({ value }) => value.length))).toEqual([
      [400, 400, 400],
      [5000],
      [10, 10],
    ]);
  });

  it('outlives the loss of every connection, and tells it', async () => {
    const failures: string[] = [];
    const log = open({ onFailure: ({ error }) => failures.push((error as Error).message) });
    const consumer = new RecordingConsumer();
    log.subscribe(consumer);
    await log.append([record('before')]);
    await eventually('the first entry', () => consumer.values.length === 1);
    await pool.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    await eventually('the failure', () => failures.length > 0);
    await log.append([record('after')]).catch(() => log.append([record('after')]));
    await eventually('an entry after the loss', () => consumer.values.includes('after'));
  });

  it('an append that can’t be written is an error that says when to try again', async () => {
    const away = new Pool({ connectionString: 'postgresql://nobody@127.0.0.1:1/none', max: 1 });
    const log = open({ pool: away });
    await expect(log.append([record('x')])).rejects.toMatchObject({
      code: 'report-log-unavailable',
      // It reaches whoever sent the record.
      message: 'The report log could not write. Send again later.',
      cause: expect.objectContaining({ code: 'ECONNREFUSED' }),
      retryAfterSeconds: 2,
    });
    await away.end();
  });

  it('an append that waits too long is refused instead of written late', async () => {
    const log = open({ maximumWaitMs: 40 });
    await log.append([record('first')]);
    const blocker = await pool.connect();
    await blocker.query('BEGIN');
    await blocker.query('SELECT * FROM report_log_partitions FOR UPDATE');
    const underWay = log.append([record('under way')]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    const late = log.append([record('late')]);
    late.catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 80));
    await blocker.query('COMMIT');
    blocker.release();
    await underWay;
    await expect(late).rejects.toMatchObject({ code: 'report-log-full' });
  });

  it('a byte array in binary is the array that was meant', async () => {
    const values = [Buffer.alloc(0), Buffer.from([0, 255, 92, 34]), Buffer.alloc(300, 7)];
    const { rows } = await pool.query(
      'SELECT a, o::int FROM unnest($1::bytea[]) WITH ORDINALITY AS t (a, o)',
      [byteaArray(values)],
    );
    expect(rows).toEqual(values.map((a, i) => ({ a, o: i + 1 })));
    const none = await pool.query('SELECT count(*)::int AS n FROM unnest($1::bytea[])', [byteaArray([])]);
    expect(none.rows[0].n).toBe(0);
  });
});
