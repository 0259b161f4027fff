import { Pool } from 'pg';
import { startEmptyDatabase, type TestDatabase } from '../testing';
import { inTransaction } from './sql';

describe('inTransaction', () => {
  let database: TestDatabase;
  let pool: Pool;
  beforeAll(async () => {
    database = await startEmptyDatabase();
    pool = new Pool({ connectionString: database.url, max: 2 });
    pool.on('error', () => undefined);
    await pool.query('CREATE TABLE marks (mark int)');
  });
  afterAll(async () => {
    await pool.end();
    await database.stop();
  });
  afterEach(() => pool.query('TRUNCATE marks'));

  const marks = async (): Promise<number[]> =>
    (await pool.query<{ mark: number }>('SELECT mark FROM marks ORDER BY mark')).rows.map((r) => r.mark);

  it('keeps what was written when the work resolves, and passes its value on', async () => {
    const value = await inTransaction(pool, async (sql) => {
      await sql.query('INSERT INTO marks VALUES (1), (2)');
      return 'done';
    });
    expect(value).toBe('done');
    expect(await marks()).toEqual([1, 2]);
  });

  it('keeps nothing when the work fails, and passes its error on', async () => {
    const work = inTransaction(pool, async (sql) => {
      await sql.query('INSERT INTO marks VALUES (1)');
      throw new Error('no more');
    });
    await expect(work).rejects.toThrow('no more');
    expect(await marks()).toEqual([]);
    expect(pool.waitingCount).toBe(0);
  });

  it('fails, and does not end the process, when the connection is lost between two statements', async () => {
    const work = inTransaction(pool, async (sql) => {
      await sql.query('INSERT INTO marks VALUES (1)');
      const { rows } = await sql.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await pool.query('SELECT pg_terminate_backend($1)', [rows[0].pid]);
      await new Promise((r) => setTimeout(r, 100));
      await sql.query('INSERT INTO marks VALUES (2)');
    });
    await expect(work).rejects.toThrow(/terminat|not queryable|closed/i);
    expect(await marks()).toEqual([]);
    // The broken connection was thrown away, not put back.
    await expect(inTransaction(pool, (sql) => sql.query('SELECT 1'))).resolves.toBeDefined();
  });
});
