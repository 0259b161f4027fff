import { execFile } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { startEmptyDatabase, startTestDatabase, type TestDatabase } from '../../testing';
import { applyMigrations } from './apply-migrations';
import { MIGRATIONS_FOLDER, readMigrations } from './migration-folder';

const ROOT = path.resolve(__dirname, '../../../../..');

describe('applyMigrations', () => {
  let database: TestDatabase;
  let client: Client;
  let folder: string;

  beforeEach(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'migrations-'));
    database = await startEmptyDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await database.stop();
    rmSync(folder, { recursive: true });
  });

  const write = (name: string, sql: string): void => {
    mkdirSync(path.join(folder, name), { recursive: true });
    writeFileSync(path.join(folder, name, 'migration.sql'), sql);
  };
  const apply = (lockTimeoutMs?: number) => applyMigrations(database.url, folder, { lockTimeoutMs });
  const tables = async (): Promise<string[]> => {
    const { rows } = await client.query<{ tablename: string }>(
      `SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE '\\_%' ORDER BY 1`,
    );
    return rows.map((row) => row.tablename);
  };

  it('applies what is missing, in order, once', async () => {
    write('0001_one', 'CREATE TABLE one (); CREATE TABLE one_more ();');
    expect(await apply()).toEqual({ applied: ['0001_one'], present: 0 });
    write('0002_two', 'ALTER TABLE one ADD COLUMN x int;');
    write('0003_three', 'CREATE INDEX ON one (x);');
    expect(await apply()).toEqual({ applied: ['0002_two', '0003_three'], present: 1 });
    expect(await apply()).toEqual({ applied: [], present: 3 });
    expect(await tables()).toEqual(['one', 'one_more']);
    const { rows } = await client.query('SELECT * FROM _prisma_migrations ORDER BY migration_name');
    expect(rows).toHaveLength(3);
    for (const row of rows) {
      // As Prisma leaves the row of a migration that it has applied.
      expect(row).toMatchObject({
        applied_steps_count: 1,
        finished_at: expect.any(Date),
        logs: null,
        rolled_back_at: null,
      });
      expect(row.finished_at.getTime()).toBeGreaterThanOrEqual(row.started_at.getTime());
    }
  });

  it('lets racing runners apply each migration once', async () => {
    // A second run of either would fail on the table's name.
    for (let n = 1; n <= 6; n += 1) write(`000${n}_t`, `CREATE TABLE t${n} (); SELECT pg_sleep(0.01);`);
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => apply()));
    expect(outcomes.flatMap(({ applied }) => applied).sort()).toEqual(
      Array.from({ length: 6 }, (_, i) => `000${i + 1}_t`),
    );
    expect(outcomes.filter(({ present }) => present === 6)).toHaveLength(5);
  });

  it('keeps nothing of a migration that fails, names its line, and goes on once it is mended', async () => {
    write('0001_one', 'CREATE TABLE one ();');
    write('0002_two', 'CREATE TABLE two ();\nCREATE TABLE two_more ();\nSELECT no_such_column;\n');
    await expect(apply()).rejects.toMatchObject({
      code: 'migration-failed',
      message: expect.stringMatching(
        /0002_two failed: .*no_such_column.*\(line 3\)\. Nothing of it was kept/,
      ),
    });
    expect(await tables()).toEqual(['one']);
    write('0002_two', 'CREATE TABLE two ();');
    expect((await apply()).applied).toEqual(['0002_two']);
  });

  it('refuses a migration that was changed after it was applied', async () => {
    write('0001_one', 'CREATE TABLE one ();');
    await apply();
    appendFileSync(path.join(folder, '0001_one', 'migration.sql'), '\n');
    await expect(apply()).rejects.toMatchObject({
      code: 'migration-changed',
      message: expect.stringContaining('0001_one is not the one that was applied'),
    });
  });

  it('refuses a folder that lacks an applied migration', async () => {
    write('0001_one', 'CREATE TABLE one ();');
    write('0002_two', 'CREATE TABLE two ();');
    await apply();
    rmSync(path.join(folder, '0002_two'), { recursive: true });
    await expect(apply()).rejects.toMatchObject({
      code: 'migration-missing',
      message: expect.stringContaining('the database has the migration 0002_two'),
    });
  });

  it('refuses a new migration whose number is already past', async () => {
    write('0002_two', 'CREATE TABLE two ();');
    await apply();
    write('0001_late', 'CREATE TABLE late ();');
    await expect(apply()).rejects.toMatchObject({ code: 'migration-out-of-order' });
    renameSync(path.join(folder, '0001_late'), path.join(folder, '0003_late'));
    expect((await apply()).applied).toEqual(['0003_late']);
  });

  it('finds a migration that ran alone and stopped half-way, and carries on as its message says', async () => {
    write('0001_one', 'CREATE TABLE one (x int); INSERT INTO one VALUES (1), (1);');
    write('0002_index', '-- runs alone\nCREATE UNIQUE INDEX CONCURRENTLY one_x ON one (x);');
    await expect(apply()).rejects.toMatchObject({ code: 'migration-failed' });
    const stopped: Error = await apply().then(
      () => new Error('was accepted'),
      (error: Error) => error,
    );
    expect(stopped).toMatchObject({ code: 'migration-half-applied' });
    expect(stopped.message).toContain('could not create unique index');

    await client.query('DROP INDEX one_x; DELETE FROM one;');
    await client.query(stopped.message.slice(stopped.message.indexOf('UPDATE _prisma_migrations')));
    expect((await apply()).applied).toEqual(['0002_index']);
  });

  it("leaves another program's database alone", async () => {
    await client.query('CREATE TABLE invoices ()');
    write('0001_one', 'CREATE TABLE one ();');
    await expect(apply()).rejects.toMatchObject({ code: 'not-our-database' });
    expect(await tables()).toEqual(['invoices']);
  });

  it('waits for the lock that Prisma takes too, and no longer than told', async () => {
    write('0001_one', 'CREATE TABLE one ();');
    await client.query('SELECT pg_advisory_lock(72707369)');
    await expect(apply(50)).rejects.toMatchObject({ code: 'migration-lock-timeout' });
    const waiting = apply(5_000);
    await client.query('SELECT pg_advisory_unlock(72707369)');
    expect((await waiting).applied).toEqual(['0001_one']);
  });

  it('says when no database answers', async () => {
    await expect(applyMigrations('postgresql://u@127.0.0.1:1/x')).rejects.toMatchObject({
      code: 'database-unreachable',
    });
  });
});

describe('the migrations of this repository', () => {
  const prismaTool = (url: string) =>
    promisify(execFile)(process.execPath, [
      path.join(ROOT, 'tools/prisma-migration.mjs'),
      'check',
      '--url',
      url,
    ]);
  let database: TestDatabase;
  beforeEach(async () => (database = await startTestDatabase()));
  afterEach(() => database.stop());

  it("make what schema.prisma says, with a history that Prisma's own engine accepts", async () => {
    expect((await prismaTool(database.url)).stdout).toContain('Schema, migrations and history agree.');
  });

  it('would not pass for agreeing when they did not', async () => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query('ALTER TABLE tasks DROP COLUMN minimum_batch');
    await expect(prismaTool(database.url)).rejects.toMatchObject({
      stderr: expect.stringContaining('ADD COLUMN     "minimum_batch"'),
    });
    await client.query('ALTER TABLE tasks ADD COLUMN minimum_batch integer NOT NULL');
    await client.query(`UPDATE _prisma_migrations SET checksum = repeat('0', 64)`);
    await expect(prismaTool(database.url)).rejects.toMatchObject({
      stderr: expect.stringContaining(readMigrations(MIGRATIONS_FOLDER)[0].name),
    });
    await client.end();
  });

  it('refuse a report id of another length than 16 bytes', async () => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const insert = (bytes: number) =>
      client.query(`INSERT INTO reports (task, id, artifact, payload) VALUES ('t', $1, 'a', '')`, [
        Buffer.alloc(bytes),
      ]);
    await client.query(`SELECT make_report_partition('t')`);
    await insert(16);
    await expect(insert(15)).rejects.toMatchObject({ constraint: 'reports_id_is_16_bytes' });
    await client.end();
  });

  it('have a table for the reports of each task, also where another name is like it', async () => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const names = ['a', 'a-b', 'a'.repeat(64), 'a'.repeat(63) + 'b', 'select', `${'a-'.repeat(31)}b`];
    await addTasks(client, names);
    const partitions = await partitionsOf(client);
    expect(Object.keys(partitions).sort()).toEqual([...names].sort());
    expect(partitions['a-b']).toMatch(/^reports_a_b_[0-9a-f]{16}$/);
    expect(new Set(Object.values(partitions)).size).toBe(names.length);
    for (const name of Object.values(partitions)) expect(name.length).toBeLessThan(63);

    await client.query('DELETE FROM tasks');
    await addTasks(client, names); // finds its tables
    await client.query(`INSERT INTO reports (task, id, artifact, payload) VALUES ('select', $1, 'a', '')`, [
      Buffer.alloc(16),
    ]);
    await expect(
      client.query(`INSERT INTO reports (task, id, artifact, payload) VALUES ('unknown', $1, 'a', '')`, [
        Buffer.alloc(16),
      ]),
    ).rejects.toThrow('no partition of relation "reports" found');
    await client.end();
    expect((await prismaTool(database.url)).stdout).toContain('Schema, migrations and history agree.');
  });
});

describe('a database with rows', () => {
  let database: TestDatabase;
  let client: Client;
  let before: string;
  beforeEach(async () => {
    before = mkdtempSync(path.join(tmpdir(), 'migrations-'));
    database = await startEmptyDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await database.stop();
    rmSync(before, { recursive: true });
  });

  it('keeps its reports and rejected entries when reports are parted by task', async () => {
    cpSync(
      path.join(MIGRATIONS_FOLDER, '0001_collection_and_learning'),
      path.join(before, '0001_collection_and_learning'),
      {
        recursive: true,
      },
    );
    await applyMigrations(database.url, before);
    await addTasks(client, ['rain', 'wind', 'nothing-yet']);
    await client.query(`
      INSERT INTO reports (task, id, artifact, payload, received_at)
        SELECT task, decode(md5(task || n), 'hex'), 'artifact', decode(repeat('ab', n), 'hex'), '2030-01-01'::timestamptz + n * interval '1 s'
        FROM unnest(ARRAY['rain', 'wind', 'task-without-a-row']) AS task, generate_series(1, 300) AS n;
      INSERT INTO rejected_reports (partition, log_offset, task, reason, detail) VALUES (0, 7, 'rain', 'malformed', 'rule')`);
    const reports = 'SELECT * FROM reports ORDER BY task, id';
    const then = (await client.query(reports)).rows;

    await applyMigrations(database.url);
    const now = (await client.query(reports)).rows;
    expect(now).toHaveLength(900);
    expect(now).toEqual(then);
    const partitions = await partitionsOf(client);
    expect(Object.keys(partitions).sort()).toEqual(['nothing-yet', 'rain', 'task-without-a-row', 'wind']);
    expect((await client.query(`SELECT DISTINCT task FROM ${partitions.wind}`)).rows).toEqual([
      { task: 'wind' },
    ]);
    const again = (id: Buffer): Promise<unknown> =>
      client.query(`INSERT INTO reports (task, id, artifact, payload) VALUES ('wind', $1, 'a', '')`, [id]);
    await expect(again(then[899].id)).rejects.toMatchObject({ code: '23505' });
    await expect(again(Buffer.alloc(15))).rejects.toMatchObject({ constraint: 'reports_id_is_16_bytes' });
    expect((await client.query('SELECT * FROM rejected_reports')).rows).toEqual([
      expect.objectContaining({
        log: 'postgres',
        partition: 0,
        log_offset: '7',
        task: 'rain',
        published_at: null,
      }),
    ]);
  });
});

async function addTasks(client: Client, names: readonly string[]): Promise<void> {
  await client.query(
    `INSERT INTO mechanisms (id, name, signer, file, claim, lineage, metrics) VALUES ('a', 'm', '', '', '{}', '{}', '{}')
     ON CONFLICT DO NOTHING`,
  );
  await client.query(
    `INSERT INTO tasks (name, artifact, opens_at, minimum_batch, per_person_cap) SELECT name, 'a', now(), 1, 1
     FROM unnest($1::text[]) AS name`,
    [names],
  );
}

/** Task → the table of its reports. */
async function partitionsOf(client: Client): Promise<Record<string, string>> {
  const { rows } = await client.query<{ name: string; bound: string }>(
    `SELECT relname AS name, pg_get_expr(relpartbound, oid) AS bound FROM pg_class
     JOIN pg_inherits ON inhrelid = oid WHERE inhparent = 'reports'::regclass`,
  );
  return Object.fromEntries(
    rows.map(({ name, bound }) => [/^FOR VALUES IN \('(.*)'\)$/.exec(bound)![1], name]),
  );
}
