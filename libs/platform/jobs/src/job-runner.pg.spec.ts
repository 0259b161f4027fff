import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestDatabase, type TestDatabase } from '@undertone/store/testing';
import { Pool } from 'pg';
import { countingHandler, typescript } from '../testing/counting-handler';
import type { CountRequest, CountResult } from '../testing/counting-trainer';
import { type Job } from './job';
import { FinishedJobError, JobError, UnknownJobError } from './job-errors';
import { type JobEvent } from './job-events';
import { type JobHandler } from './job-handlers';
import { JobRunner, type JobRunnerOptions } from './job-runner';

const LEASE_MS = 1_200;

/** The oracle: the counting trainer's product, worked out in one go. */
function productTo(count: number): number {
  let product = 1;
  for (let n = 1; n <= count; n++) product = (product * (n + 7)) % 1_000_003;
  return product;
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

async function until<T>(look: () => T | undefined | Promise<T | undefined>, what: string): Promise<T> {
  const end = Date.now() + 15_000;
  while (Date.now() < end) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    await sleep(20);
  }
  throw new Error(`waited 15 s for ${what}`);
}

describe('JobRunner', () => {
  let database: TestDatabase;
  let pool: Pool;
  let home: string;
  let events: JobEvent[];
  const runners: JobRunner[] = [];
  const hosts: ChildProcess[] = [];

  beforeEach(async () => {
    database = await startTestDatabase();
    pool = new Pool({ connectionString: database.url, max: 8 });
    // Dropping the database ends connections that `pool.end` has only begun to close.
    pool.on('error', () => undefined);
    home = mkdtempSync(path.join(tmpdir(), 'undertone-jobs-'));
    events = [];
  });

  afterEach(async () => {
    for (const host of hosts.splice(0)) host.kill('SIGKILL');
    await Promise.all(runners.splice(0).map((runner) => runner.stop()));
    await pool.end();
    await database.stop();
    rmSync(home, { recursive: true, force: true });
  });

  async function startRunner(
    handler: Partial<JobHandler<CountRequest, CountResult>> = {},
    changes: Partial<JobRunnerOptions> = {},
  ): Promise<JobRunner> {
    const runner = new JobRunner({
      pool,
      table: 'mechanism_jobs',
      kinds: ['count'],
      handlers: [countingHandler(handler)],
      home,
      leaseMs: LEASE_MS,
      retryDelayMs: 50,
      pollMs: 100,
      stopGraceMs: 2_000,
      onEvent: (event) => events.push(event),
      ...changes,
    });
    runners.push(runner);
    await runner.start();
    return runner;
  }

  const folderOf = (id: string): string => path.join(home, 'jobs', id);
  const countReached = (id: string): number => {
    const file = path.join(folderOf(id), 'checkpoint.json');
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as CountResult).count : 0;
  };
  const reaches = (id: string, count: number) =>
    until(() => countReached(id) >= count || undefined, `a checkpoint at ${count}`);
  const ends = (runner: JobRunner, id: string): Promise<Job> =>
    until(async () => {
      const job = await runner.get(id);
      return job.status === 'queued' || job.status === 'running' ? undefined : job;
    }, 'the end of the job');
  const trainerOf = (id: string): Promise<number> =>
    until(() => {
      const started = events.filter((e) => e.type === 'started' && e.job.id === id).at(-1);
      return started?.type === 'started' ? started.pid : undefined;
    }, 'a trainer');
  const rowOf = async (id: string) =>
    (await pool.query('SELECT * FROM mechanism_jobs WHERE id = $1', [id])).rows[0];

  async function startHost(): Promise<{ host: ChildProcess; trainer: Promise<number> }> {
    const host = spawn(
      process.execPath,
      [...typescript, path.join(__dirname, '../testing/host.ts'), database.url, home, String(LEASE_MS)],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    hosts.push(host);
    const lines = createInterface({ input: host.stdout! });
    const heard = (start: string) =>
      new Promise<string>((resolve) =>
        lines.on('line', (line) => line.startsWith(start) && resolve(line.slice(start.length))),
      );
    const trainer = heard('trainer ').then(Number);
    await heard('up');
    return { host, trainer };
  }

  it('runs a job to its end, tells its progress and clears its folder', async () => {
    const runner = await startRunner();
    const { id, status } = await runner.enqueue('count', { to: 60, stepMs: 20 });
    expect(status).toBe('queued');
    const seen = await until(async () => (await runner.get(id)).progress ?? undefined, 'progress');
    expect(seen).toMatchObject({ stage: 'counting', total: 60 });

    const job = await ends(runner, id);
    expect(job).toMatchObject({ status: 'succeeded', attempt: 1, error: null });
    expect(job.result).toEqual({ count: 60, product: productTo(60), starts: [0] });
    await until(() => events.some((e) => e.type === 'succeeded') || undefined, 'the news of its success');
    expect(existsSync(folderOf(id))).toBe(false);
    expect(events.map((e) => e.type)).toEqual(['started', 'succeeded']);
  });

  it('starts a killed trainer again from its checkpoint and ends with the same result', async () => {
    const runner = await startRunner();
    const { id } = await runner.enqueue('count', { to: 40, stepMs: 15 });
    await reaches(id, 10);
    process.kill(await trainerOf(id), 'SIGKILL');

    const job = await ends(runner, id);
    const { count, product, starts } = job.result as CountResult;
    expect(job).toMatchObject({ status: 'succeeded', attempt: 2, error: null });
    expect({ count, product }).toEqual({ count: 40, product: productTo(40) });
    expect(starts[0]).toBe(0);
    expect(starts[1]).toBeGreaterThanOrEqual(10);
    expect(starts).toHaveLength(2);
  });

  it('gives up after the last attempt and says why', async () => {
    const runner = await startRunner();
    const { id } = await runner.enqueue('count', { to: 5, stepMs: 1, crashAt: 3 });
    const job = await ends(runner, id);
    expect(job).toMatchObject({ status: 'failed', attempt: 3, error: { code: 'trainer-crashed' } });
    expect(job.error?.message).toBe(
      'Attempt 3 of 3 was the last: the trainer was ended by SIGABRT; its last words were: FATAL ERROR: heap limit reached.',
    );
    expect(events.map((e) => e.type).filter((type) => type !== 'output')).toEqual([
      'started',
      'retried',
      'started',
      'retried',
      'started',
      'failed',
    ]);
  });

  it('fails at once, with its code and message, when another attempt would be pointless', async () => {
    const runner = await startRunner();
    const { id } = await runner.enqueue('count', { to: 9, stepMs: 1, failAt: 4 });
    expect(await ends(runner, id)).toMatchObject({
      status: 'failed',
      attempt: 1,
      error: { code: 'no-such-number', message: "can't count past 4" },
    });
  });

  it('fails at once when what the trainer needs is not there', async () => {
    const runner = await startRunner({
      prepare: async () => {
        throw new JobError('too-few-reports', 'The task has 3 reports and asks for 1,000.');
      },
    });
    const { id } = await runner.enqueue('count', { to: 9, stepMs: 1 });
    expect(await ends(runner, id)).toMatchObject({ status: 'failed', error: { code: 'too-few-reports' } });
  });

  it('cancels a queued job at once and a running one after it has saved', async () => {
    const runner = await startRunner();
    const first = await runner.enqueue('count', { to: 10_000, stepMs: 10 });
    const second = await runner.enqueue('count', { to: 10_000, stepMs: 10 });
    await reaches(first.id, 3);
    const pid = await trainerOf(first.id);

    expect(await runner.cancel(second.id)).toMatchObject({ status: 'cancelled', attempt: 0 });
    expect(await runner.cancel(second.id)).toMatchObject({ status: 'cancelled' });
    await runner.cancel(first.id);
    expect(await ends(runner, first.id)).toMatchObject({ status: 'cancelled', attempt: 1, error: null });
    expect(isAlive(pid)).toBe(false);
    const reached = countReached(first.id);
    await sleep(100);
    expect(countReached(first.id)).toBe(reached);
  });

  it('kills a trainer that does not listen', async () => {
    const runner = await startRunner({}, { stopGraceMs: 300 });
    const { id } = await runner.enqueue('count', { to: 10_000, stepMs: 10, deaf: 'yes' });
    await reaches(id, 2);
    await runner.cancel(id);
    expect(await ends(runner, id)).toMatchObject({ status: 'cancelled' });
    expect(isAlive(await trainerOf(id))).toBe(false);
  });

  it('hears of a cancellation that another process took in', async () => {
    const runner = await startRunner();
    const { id } = await runner.enqueue('count', { to: 10_000, stepMs: 10 });
    await reaches(id, 2);
    await pool.query('UPDATE mechanism_jobs SET cancel_requested = true WHERE id = $1', [id]);
    expect(await ends(runner, id)).toMatchObject({ status: 'cancelled' });
  });

  it('lets a cancellation win over a result that comes after it', async () => {
    const runner = await startRunner({
      complete: async (result, { job }) => {
        await pool.query('UPDATE mechanism_jobs SET cancel_requested = true WHERE id = $1', [job.id]);
        return { result, store: async (sql) => void (await sql.query('CREATE TABLE kept ()')) };
      },
    });
    const { id } = await runner.enqueue('count', { to: 2, stepMs: 1 });
    expect(await ends(runner, id)).toMatchObject({ status: 'cancelled', result: null });
    expect((await pool.query("SELECT to_regclass('kept') AS kept")).rows).toEqual([{ kept: null }]);
  });

  it('refuses to cancel what has ended and what is not there', async () => {
    const runner = await startRunner();
    const { id } = await runner.enqueue('count', { to: 1, stepMs: 1 });
    await ends(runner, id);
    await expect(runner.cancel(id)).rejects.toThrow(FinishedJobError);
    await expect(runner.cancel('0190b5f0-0000-7000-8000-000000000000')).rejects.toThrow(UnknownJobError);
    await expect(runner.get('not-an-id')).rejects.toThrow(/no job not-an-id here/);
  });

  it('keeps what a job stores and its success together', async () => {
    await pool.query('CREATE TABLE kept (count integer)');
    let failures = 1;
    const runner = await startRunner({
      complete: async (result) => ({
        result,
        store: async (transaction) => {
          await transaction.query('INSERT INTO kept VALUES ($1)', [result.count]);
          if (failures-- > 0) throw new Error('the connection broke');
        },
      }),
    });
    const { id } = await runner.enqueue('count', { to: 5, stepMs: 1 });
    expect(await ends(runner, id)).toMatchObject({ status: 'succeeded', attempt: 2 });
    expect((await pool.query('SELECT * FROM kept')).rows).toEqual([{ count: 5 }]);
  });

  it('takes over from a killed service: the orphan ends by itself, the job goes on from its checkpoint', async () => {
    const { host, trainer } = await startHost();
    const runner = await startRunner({}, { trainers: 0 });
    const { id } = await runner.enqueue('count', { to: 80, stepMs: 20 });
    await reaches(id, 5);
    const orphan = await trainer;
    host.kill('SIGKILL');
    await until(() => !isAlive(orphan) || undefined, 'the orphan to end');
    const reached = countReached(id);
    expect(reached).toBeLessThan(80);

    const successor = await startRunner();
    const job = await ends(successor, id);
    expect(job).toMatchObject({ status: 'succeeded', attempt: 2 });
    expect(job.result).toEqual({ count: 80, product: productTo(80), starts: [0, reached] });
  });

  it('puts a job back when its service stops, without counting the attempt', async () => {
    const { host, trainer } = await startHost();
    const enqueuer = await startRunner({}, { trainers: 0 });
    const { id } = await enqueuer.enqueue('count', { to: 60, stepMs: 20 });
    await reaches(id, 5);
    const pid = await trainer;
    host.kill('SIGTERM');
    await new Promise((resolve) => host.once('exit', resolve));
    expect(host.exitCode).toBe(0);
    expect(isAlive(pid)).toBe(false);
    expect(await rowOf(id)).toMatchObject({ status: 'queued', attempt: 0, lease_holder: null });

    const job = await ends(await startRunner(), id);
    expect(job).toMatchObject({ status: 'succeeded', attempt: 1 });
    expect(job.result).toMatchObject({ count: 60, product: productTo(60) });
    expect((job.result as CountResult).starts).toHaveLength(2);
  });

  it('stops a trainer whose lease another process has taken, and leaves the row alone', async () => {
    const runner = await startRunner();
    const { id } = await runner.enqueue('count', { to: 10_000, stepMs: 10 });
    await reaches(id, 2);
    await pool.query(
      `UPDATE mechanism_jobs SET lease_holder = 'another', lease_until = now() + interval '1 hour' WHERE id = $1`,
      [id],
    );
    await until(() => events.some((e) => e.type === 'lost') || undefined, 'the loss to be seen');
    expect(isAlive(await trainerOf(id))).toBe(false);
    expect(await rowOf(id)).toMatchObject({ status: 'running', lease_holder: 'another', attempt: 1 });
  });

  it('fails a job that each of its services was lost with', async () => {
    await pool.query(
      `INSERT INTO mechanism_jobs (id, kind, request, status, attempt, lease_holder, lease_until)
       VALUES ('0190b5f0-0000-7000-8000-000000000001', 'count', '{"to": 3, "stepMs": 1}', 'running', 3, 'gone', now())`,
    );
    const runner = await startRunner();
    expect(await ends(runner, '0190b5f0-0000-7000-8000-000000000001')).toMatchObject({
      status: 'failed',
      attempt: 3,
      error: { code: 'service-lost' },
    });
  });

  it('finds a job that has no message', async () => {
    await pool.query(
      `INSERT INTO mechanism_jobs (id, kind, request)
       VALUES ('0190b5f0-0000-7000-8000-000000000002', 'count', '{"to": 3, "stepMs": 1}')`,
    );
    const runner = await startRunner();
    expect(await ends(runner, '0190b5f0-0000-7000-8000-000000000002')).toMatchObject({ status: 'succeeded' });
  });

  it('runs each job once however many runners there are, and no more trainers than asked for', async () => {
    const one = await startRunner({}, { trainers: 2 });
    await startRunner({}, { trainers: 2 });
    const jobs = await Promise.all(
      Array.from({ length: 6 }, () => one.enqueue('count', { to: 10, stepMs: 10 })),
    );
    const ended = await Promise.all(jobs.map(({ id }) => ends(one, id)));
    expect(ended.map(({ status, attempt }) => `${status} ${attempt}`)).toEqual(Array(6).fill('succeeded 1'));
    let running = 0;
    let most = 0;
    for (const { type } of events) {
      running += type === 'started' ? 1 : type === 'succeeded' ? -1 : 0;
      most = Math.max(most, running);
    }
    expect(events.filter((e) => e.type === 'started')).toHaveLength(6);
    expect(most).toBeLessThanOrEqual(4);
  });
});
