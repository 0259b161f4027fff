import { type PoolClient } from 'pg';
import { startTestDatabase, type TestDatabase } from '../../testing';
import { connectStore, type Store } from '../store';

const ARTIFACT = 'a'.repeat(64);
const NOW = new Date();
const LATER = new Date(NOW.getTime() + 3_600_000);
const day = (text: string): Date => new Date(`${text}T00:00:00Z`);

let database: TestDatabase;
let store: Store;
beforeEach(async () => {
  database = await startTestDatabase();
  store = connectStore(database.url);
  await store.mechanisms.publish({
    id: ARTIFACT,
    name: 'digits',
    signer: '',
    file: Uint8Array.of(),
    claim: {},
    lineage: {},
    metrics: {},
  });
});
afterEach(async () => {
  await store.close();
  await database.stop();
});

let ids = 0;
const insert = (task: string): Promise<unknown> =>
  store.pool.query(`INSERT INTO reports (task, id, artifact, payload) VALUES ($1, $2, 'a', '')`, [
    task,
    Buffer.from((++ids).toString(16).padStart(32, '0'), 'hex'),
  ]);

async function addTask(name: string, closesAt?: Date, reports = 3): Promise<void> {
  const task = { name, artifact: ARTIFACT, labels: [], opensAt: day('2020-01-01'), closesAt };
  await store.tasks.create({ ...task, minimumBatch: 1, perPersonCap: 1 });
  for (let i = 0; i < reports; i++) await insert(name);
}

const tables = async (): Promise<string[]> => {
  const { rows } = await store.pool.query<{ task: string }>(
    `SELECT name AS task FROM tasks WHERE to_regclass(report_partition(name)) IS NOT NULL ORDER BY name`,
  );
  return rows.map(({ task }) => task);
};

const readAll = async (task: string): Promise<number> => {
  let count = 0;
  for await (const batch of store.reports.read(task)) count += batch.length;
  return count;
};

/** An open transaction that has read the task’s reports. */
async function readerOf(task: string): Promise<PoolClient> {
  const reader = await store.pool.connect();
  await reader.query('BEGIN');
  await reader.query('SELECT count(*) FROM reports WHERE task = $1', [task]);
  return reader;
}

it('expires what closed before a time, once, and drops it a task a call', async () => {
  await addTask('rain', day('2020-02-01'));
  await addTask('hail', day('2020-02-01'));
  await addTask('snow', day('2020-03-01'));
  await addTask('wind');
  expect(await store.reportPartitions.dropOne(LATER)).toBeUndefined();
  expect(await store.reportPartitions.expire(day('2020-02-15'))).toEqual(['hail', 'rain']);
  expect(await store.reportPartitions.expire(day('2020-02-15'))).toEqual([]);
  expect((await store.tasks.find('rain'))?.reportsDroppedAt).toBeInstanceOf(Date);
  expect((await store.tasks.find('snow'))?.reportsDroppedAt).toBeNull();
  expect(await store.reportPartitions.dropOne(day('2020-03-01'))).toBeUndefined();
  expect(await tables()).toEqual(['hail', 'rain', 'snow', 'wind']);

  expect(await store.reportPartitions.dropOne(LATER)).toEqual({ task: 'hail', bytes: expect.any(Number) });
  expect(await tables()).toEqual(['rain', 'snow', 'wind']);
  expect(await store.reportPartitions.dropOne(LATER)).toMatchObject({ task: 'rain' });
  expect(await store.reportPartitions.dropOne(LATER)).toBeUndefined();
  expect(await tables()).toEqual(['snow', 'wind']);
  expect(await readAll('snow')).toBe(3);
  await expect(insert('rain')).rejects.toThrow('no partition of relation "reports" found');
});

it('tells a reader that reports may have been missing, from the moment they are expired', async () => {
  await addTask('rain', day('2020-02-01'));
  expect(await readAll('rain')).toBe(3);
  const reading = store.reports.read('rain', { batchSize: 2 });
  expect((await reading.next()).value).toHaveLength(2);
  await store.reportPartitions.expire(day('2020-02-15'));
  await store.reportPartitions.dropOne(LATER);
  await expect(reading.next()).rejects.toMatchObject({
    code: 'reports-deleted',
    message: expect.stringContaining('"rain" were deleted on 20'),
  });
});

it('one process drops, another that tries at the same time does nothing', async () => {
  for (const name of ['rain', 'hail']) await addTask(name, day('2020-02-01'));
  await store.reportPartitions.expire(NOW);
  const reader = await readerOf('rain');
  const first = store.reportPartitions.dropOne(LATER, { lockTimeoutMs: 20_000 });
  await waitingFor('DETACH');
  const other = connectStore(database.url);
  expect(await other.reportPartitions.dropOne(LATER)).toBeUndefined();
  await reader.query('COMMIT');
  reader.release();
  expect(await first).toMatchObject({ task: 'hail' });
  expect(await other.reportPartitions.dropOne(LATER)).toMatchObject({ task: 'rain' });
  await other.close();
});

it('lets others read, write and make tasks while it waits, gives up in time, and carries on with the next call', async () => {
  await addTask('rain', day('2020-02-01'));
  await addTask('wind');
  await store.reportPartitions.expire(NOW);
  const reader = await readerOf('rain');
  const dropping = store.reportPartitions.dropOne(LATER, { lockTimeoutMs: 1_000 });
  const refused = expect(dropping).rejects.toMatchObject({ code: '55P03' });
  await waitingFor('DETACH');
  let done = 0;
  const writing = (async () => {
    for (; done < 50; done++) await insert('wind');
  })();
  await writing;
  expect(await readAll('wind')).toBe(53);
  await addTask('sun'); // waits for the attempt to end
  await refused;
  expect(await tables()).toEqual(['rain', 'sun', 'wind']);

  await reader.query('SELECT count(*) FROM reports WHERE task = $1', ['rain']);
  await reader.query('COMMIT');
  reader.release();
  const { rows } = await store.pool.query('SHOW lock_timeout');
  expect(rows).toEqual([{ lock_timeout: '0' }]);
  expect(await store.reportPartitions.dropOne(LATER)).toMatchObject({ task: 'rain' });
  expect(await tables()).toEqual(['sun', 'wind']);
});

it('carries on where a process was killed', async () => {
  await addTask('rain', day('2020-02-01'));
  await store.reportPartitions.expire(NOW);
  const reader = await readerOf('rain');
  const dropping = store.reportPartitions.dropOne(LATER, { lockTimeoutMs: 20_000 });
  const ended = expect(dropping).rejects.toThrow();
  await store.pool.query('SELECT pg_terminate_backend($1)', [await waitingFor('DETACH')]);
  await ended;
  await reader.query('COMMIT');
  reader.release();
  expect(await store.reportPartitions.dropOne(LATER)).toMatchObject({ task: 'rain' });
});

it('tasks that are made while others are dropped and written to get their tables', async () => {
  for (let i = 0; i < 5; i++) await addTask(`old-${i}`, day('2020-02-01'));
  await addTask('wind');
  await store.reportPartitions.expire(NOW);
  let writes = 0;
  let isOver = false;
  const write = async (): Promise<void> => {
    for (; !isOver; writes++) await insert('wind');
  };
  const writers = [write(), write(), write()];
  const drops = (async () => {
    while ((await store.reportPartitions.dropOne(LATER, { lockTimeoutMs: 20_000 })) !== undefined);
  })();
  await Promise.all([drops, ...Array.from({ length: 8 }, (_, i) => addTask(`new-${i}`))]);
  isOver = true;
  await Promise.all(writers);
  expect(await tables()).toEqual([...Array.from({ length: 8 }, (_, i) => `new-${i}`), 'wind']);
  expect(await readAll('wind')).toBe(writes + 3);
});

/** The process id of the session that waits within such a statement. */
async function waitingFor(statement: string): Promise<number> {
  for (;;) {
    const { rows } = await store.pool.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%' AND pid <> pg_backend_pid()`,
      [statement],
    );
    if (rows.length > 0) return rows[0].pid;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
