import { startTestDatabase, type TestDatabase } from '../testing';
import { connectStore, type Store } from './store';

const ARTIFACT = 'a'.repeat(64);

describe('Store', () => {
  let database: TestDatabase;
  let store: Store;
  beforeAll(async () => {
    database = await startTestDatabase();
    store = connectStore(database.url, { statementTimeoutMs: 500, max: 4 });
  });
  afterAll(async () => {
    await store.close();
    await database.stop();
  });
  afterEach(() =>
    store.pool.query(
      'TRUNCATE mechanisms, tasks, classifiers, reports, outcome_counts, mechanism_jobs CASCADE',
    ),
  );

  const publish = (changes: { id?: string; name?: string } = {}) =>
    store.mechanisms.publish({
      id: ARTIFACT,
      name: 'digits',
      signer: 'ab'.repeat(32),
      file: Uint8Array.of(0, 1, 255),
      prior: Uint8Array.of(7),
      claim: { kind: 'pure-ldp', epsilon: 8, parts: [{ of: 'label', epsilon: 2 }] },
      lineage: { seed: 1, dropped: undefined },
      metrics: {},
      ...changes,
    });
  const task = {
    name: 'survey',
    artifact: ARTIFACT,
    labels: ['0', '1'],
    opensAt: new Date('2030-01-01T00:00:00Z'),
    minimumBatch: 100,
    perPersonCap: 1,
  };
  const at = (text: string) => new Date(text);

  describe('mechanisms', () => {
    it('come back as they were published, part by part', async () => {
      expect(await publish()).toBe('published');
      expect(await store.mechanisms.find('digits')).toMatchObject({
        id: ARTIFACT,
        claim: { epsilon: 8, parts: [{ of: 'label', epsilon: 2 }] },
        lineage: { seed: 1 },
        jobId: null,
      });
      expect(Array.from((await store.mechanisms.read(ARTIFACT, 'file'))!)).toEqual([0, 1, 255]);
      expect(Array.from((await store.mechanisms.read(ARTIFACT, 'prior'))!)).toEqual([7]);
      expect(await store.mechanisms.read(ARTIFACT, 'decoder')).toBeUndefined();
      expect(await store.mechanisms.read('b'.repeat(64), 'file')).toBeUndefined();
    });

    it('never change: a second one of the same id is the first', async () => {
      await publish();
      expect(await publish({ name: 'renamed' })).toBe('present');
      expect((await store.mechanisms.list()).map(({ name }) => name)).toEqual(['digits']);
    });

    it('are found by id, or by name: then the newest', async () => {
      await publish();
      await publish({ id: 'b'.repeat(64) });
      await store.pool.query(`UPDATE mechanisms SET created_at = now() - interval '1 day' WHERE id = $1`, [
        ARTIFACT,
      ]);
      expect((await store.mechanisms.find('digits'))?.id).toBe('b'.repeat(64));
      expect((await store.mechanisms.find(ARTIFACT))?.id).toBe(ARTIFACT);
      expect(await store.mechanisms.find('unknown')).toBeUndefined();
      expect((await store.mechanisms.list({ limit: 1 })).map(({ id }) => id)).toEqual(['b'.repeat(64)]);
    });
  });

  describe('tasks', () => {
    it('have one name each and an artifact that exists', async () => {
      await expect(store.tasks.create(task)).rejects.toMatchObject({
        code: 'not-found',
        message: expect.stringContaining(ARTIFACT),
      });
      await publish();
      expect(await store.tasks.create(task)).toMatchObject({ ...task, closesAt: null });
      await expect(store.tasks.create(task)).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('"survey"'),
      });
      expect(await store.tasks.find('survey')).toMatchObject({ labels: ['0', '1'] });
      expect(await store.tasks.find('other')).toBeUndefined();
    });

    it('close earlier, never later', async () => {
      await publish();
      await store.tasks.create({ ...task, closesAt: at('2031-01-01') });
      expect((await store.tasks.close('survey', at('2032-01-01')))?.closesAt).toEqual(at('2031-01-01'));
      expect((await store.tasks.close('survey', at('2030-06-01')))?.closesAt).toEqual(at('2030-06-01'));
      expect(await store.tasks.close('other', at('2030-06-01'))).toBeUndefined();
    });

    it('keep their mechanism from being deleted', async () => {
      await publish();
      await store.tasks.create(task);
      await expect(store.pool.query('DELETE FROM mechanisms')).rejects.toMatchObject({ code: '23001' });
    });
  });

  describe('reports', () => {
    const id = (n: number) => Buffer.from(n.toString(16).padStart(32, '0'), 'hex');
    const insert = (task: string, n: number, receivedAt: string) =>
      store.pool.query(
        'INSERT INTO reports (task, id, artifact, payload, received_at) VALUES ($1, $2, $3, $4, $5)',
        [task, id(n), ARTIFACT, Buffer.of(n), receivedAt],
      );
    const read = async (from: Store, options?: { upTo?: Date; batchSize?: number }): Promise<number[][]> => {
      const batches: number[][] = [];
      for await (const batch of from.reports.read('survey', options)) {
        batches.push(batch.map(({ payload }) => payload[0]));
      }
      return batches;
    };

    beforeEach(() =>
      store.pool.query(`SELECT make_report_partition(task) FROM unnest(ARRAY['survey', 'another']) AS task`),
    );

    it('are read in one order, whatever the order of their arrival and the size of a batch', async () => {
      for (const n of [5, 1, 9, 3, 7]) await insert('survey', n, '2030-01-01');
      await insert('another', 2, '2030-01-01');
      for (const usesIndex of ['on', 'off']) {
        const name = new URL(database.url).pathname.slice(1);
        await store.pool.query(`ALTER DATABASE ${name} SET enable_indexscan = ${usesIndex}`);
        await store.pool.query(`ALTER DATABASE ${name} SET enable_bitmapscan = ${usesIndex}`);
        const fresh = connectStore(database.url);
        expect(await read(fresh)).toEqual([[1, 3, 5, 7, 9]]);
        expect(await read(fresh, { batchSize: 2 })).toEqual([[1, 3], [5, 7], [9]]);
        await fresh.close();
      }
      expect(await store.reports.count('survey')).toBe(5);
      expect(await store.reports.count('nothing')).toBe(0);
    });

    it('that came later are left out for one who asks for a time', async () => {
      await insert('survey', 1, '2030-01-01');
      await insert('survey', 2, '2030-01-03');
      expect(await read(store, { upTo: at('2030-01-02') })).toEqual([[1]]);
    });
  });

  it('sums the counts of outcomes over their shards', async () => {
    await store.pool.query(
      `INSERT INTO outcome_counts (task, outcome, shard, count) VALUES
       ('survey', 'stored', 0, 3), ('survey', 'stored', 7, 4), ('survey', 'repeated', 1, 2), ('other', 'stored', 0, 9)`,
    );
    expect(await store.outcomes.totals('survey')).toEqual({ stored: 7, repeated: 2 });
    expect(await store.outcomes.totals('none')).toEqual({});
  });

  it('keeps classifiers with their lineage, and saves each once', async () => {
    await publish();
    await store.tasks.create(task);
    const classifier = {
      id: 'c1',
      name: 'digits',
      task: 'survey',
      artifact: ARTIFACT,
      objective: 'marginalised',
      settings: { epochs: 8 },
      metrics: { accuracy: 0.8 },
      lineage: { seed: 3 },
      file: Uint8Array.of(1, 2),
    };
    expect(await store.classifiers.save(classifier)).toBe('saved');
    expect(await store.classifiers.save({ ...classifier, name: 'other' })).toBe('present');
    expect(await store.classifiers.find('digits')).toMatchObject({ id: 'c1', metrics: { accuracy: 0.8 } });
    expect(await store.classifiers.list()).toHaveLength(1);
    expect(Array.from((await store.classifiers.readFile('c1'))!)).toEqual([1, 2]);
    expect(await store.classifiers.readFile('c2')).toBeUndefined();
  });

  it('stores a model within a transaction, and not when that is undone', async () => {
    const client = await store.pool.connect();
    await client.query('BEGIN');
    await store.mechanisms.publish(
      { id: ARTIFACT, name: 'x', signer: '', file: Uint8Array.of(), claim: {}, lineage: {}, metrics: {} },
      client,
    );
    await client.query('ROLLBACK');
    client.release();
    expect(await store.mechanisms.list()).toEqual([]);
  });

  it('ends a statement that takes too long', async () => {
    await expect(store.pool.query('SELECT pg_sleep(30)')).rejects.toMatchObject({ code: '57014' });
  });

  it('survives the loss of its connections', async () => {
    const lost: Error[] = [];
    const other = connectStore(database.url, { onConnectionLost: (error) => lost.push(error) });
    const { rows } = await other.pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await store.pool.query('SELECT pg_terminate_backend($1)', [rows[0].pid]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(lost).toHaveLength(1);
    await other.check();
    await Promise.all([other.close(), other.close()]);
  });

  it('survives the loss of a connection on its way from one owner to the next', async () => {
    const client = await store.pool.connect();
    // As the server's last word comes along with the answer before it, ahead of whoever waits for the connection.
    expect(() => client.emit('error', new Error('terminated'))).not.toThrow();
    client.release();
  });

  it('says when the database does not answer', async () => {
    const absent = connectStore('postgresql://u:hunter2@127.0.0.1:1/x');
    await expect(absent.check()).rejects.toMatchObject({ code: 'database-unreachable' });
    await expect(absent.check()).rejects.not.toThrow('hunter2');
    await absent.close();
  });
});
