import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { openArtifact } from '@undertone/artifact';
import type { JobDocument } from '@undertone/jobs';
import { connectStore, type Store } from '@undertone/store';
import { startTestDatabase, type TestDatabase } from '@undertone/store/testing';

jest.setTimeout(120_000);

const PROGRAM = path.join(__dirname, '..', 'dist', 'main.js');

interface LogLine {
  job?: string;
  pid?: number;
}

/** The service as it is deployed: a process of its own. */
class Service {
  url: string | undefined;
  private readonly log: LogLine[] = [];

  private constructor(private readonly child: ChildProcess) {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      if (line.startsWith('{')) this.log.push(JSON.parse(line) as LogLine);
      else this.url = / answers at (\S+)/.exec(line)?.[1] ?? this.url;
    });
  }

  static async start(environment: Record<string, string>): Promise<Service> {
    const child = spawn(process.execPath, [PROGRAM], {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const service = new Service(child);
    await until(() => service.url, 'the service to answer');
    return service;
  }

  /** Process ids of the job's trainers so far. */
  trainers(job: string): number[] {
    return this.log.flatMap((line) => (line.job === job && line.pid !== undefined ? [line.pid] : []));
  }

  async call<T>(method: 'GET' | 'POST', where: string, body?: unknown): Promise<{ status: number; body: T }> {
    const response = await fetch(`${this.url}${where}`, {
      method,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as T };
  }

  async ask(request: unknown): Promise<string> {
    const { status, body } = await this.call<JobDocument>('POST', '/v1/mechanisms/jobs', request);
    expect(status).toBe(202);
    return body.id;
  }

  async end(job: string): Promise<JobDocument> {
    return until(async () => {
      const { body } = await this.call<JobDocument>('GET', `/v1/mechanisms/jobs/${job}`);
      return ['succeeded', 'failed', 'cancelled'].includes(body.status) ? body : undefined;
    }, `job ${job} to end`);
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    const exited = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill(signal);
    await exited;
    return this.child.exitCode;
  }
}

async function until<T>(look: () => T | undefined | Promise<T | undefined>, what: string): Promise<T> {
  const end = Date.now() + 60_000;
  while (Date.now() < end) {
    const seen = await look();
    if (seen !== undefined) return seen;
    await sleep(10);
  }
  throw new Error(`waited a minute for ${what}`);
}

describe('a mechanism job', () => {
  let database: TestDatabase;
  let store: Store;
  let home: string;
  let environment: Record<string, string>;
  const services: Service[] = [];

  const request = {
    name: 'digits',
    dataset: { source: 'mnist', part: 'train', select: { seed: 5, offset: 0, count: 640 } },
    d1: 'public',
    epsilon: 8,
    seed: 11,
    prototypes: 50,
    settings: { hidden: [48], epochs: 60, batch: 64 },
  };
  const folder = (job: string): string => path.join(home, 'jobs', job);
  const midway = (job: string): Promise<true> =>
    until(() => existsSync(path.join(folder(job), 'fit.checkpoint')) || undefined, 'a checkpoint');

  const start = async (): Promise<Service> => {
    const service = await Service.start(environment);
    services.push(service);
    return service;
  };

  beforeAll(async () => {
    database = await startTestDatabase();
    store = connectStore(database.url);
    home = mkdtempSync(path.join(tmpdir(), 'undertone-mechanism-'));
    environment = {
      DATABASE_URL: database.url,
      UNDERTONE_HOME: home,
      UNDERTONE_PORT: '0',
      UNDERTONE_JOB_LEASE_MS: '1000',
      UNDERTONE_DATA_ROOTS: home,
      UNDERTONE_LOG_LEVEL: 'info',
    };
  });

  afterAll(async () => {
    await Promise.all(services.map((service) => service.stop('SIGKILL')));
    await store.close();
    await database.stop();
    rmSync(home, { recursive: true, force: true });
  });

  let uninterrupted: string;

  it('publishes a signed mechanism that keeps its word', async () => {
    const service = await start();
    const job = await service.ask(request);
    const ended = await service.end(job);
    expect(ended).toMatchObject({ status: 'succeeded', attempt: 1, error: null });
    uninterrupted = (ended.result as { mechanism: string }).mechanism;

    const { keys } = (await service.call<{ keys: string[] }>('GET', '/v1/signing-keys')).body;
    const file = (await store.mechanisms.read(uninterrupted, 'file'))!;
    const artifact = openArtifact(file, { trustedKeys: keys, expectedId: uninterrupted });
    expect(artifact.body.labels).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    expect(artifact.body.claim).toMatchObject({
      kind: 'pure-ldp',
      epsilon: 8,
      parts: [
        { of: 'representation', epsilon: 4 },
        { of: 'label', epsilon: 4 },
      ],
      d1: { kind: 'public' },
    });
    expect(artifact.body.lineage).toMatchObject({ method: 'V-RLM', seed: 11, d1: { rows: 640 } });
    expect(JSON.stringify(artifact.body.lineage)).not.toContain(home);
    expect(existsSync(folder(job))).toBe(false);

    const shown = await service.call<Record<string, unknown>>('GET', '/v1/mechanisms/digits');
    expect(shown.body).toMatchObject({ id: uninterrupted, job, claim: artifact.body.claim });
    const z = Array.from(artifact.encode(new Float32Array(784)));
    const drawn = await service.call<{ records: number[][] }>(
      'POST',
      `/v1/mechanisms/${uninterrupted}/reconstructions`,
      { representations: [z] },
    );
    expect(drawn.body.records[0]).toHaveLength(784);
    expect(Math.min(...drawn.body.records[0])).toBeGreaterThanOrEqual(0);
    expect(Math.max(...drawn.body.records[0])).toBeLessThanOrEqual(255);
  });

  it('ends with the same weights when its trainer is killed', async () => {
    const [service] = services;
    const job = await service.ask(request);
    await midway(job);
    process.kill(service.trainers(job)[0], 'SIGKILL');
    expect(await service.end(job)).toMatchObject({
      status: 'succeeded',
      attempt: 2,
      result: { mechanism: uninterrupted },
    });
    expect(service.trainers(job)).toHaveLength(2);
  });

  it('ends with the same weights when its service is killed, and when one is stopped', async () => {
    const [first] = services;
    const job = await first.ask(request);
    await midway(job);
    await first.stop('SIGKILL');

    const second = await start();
    await until(() => second.trainers(job)[0], 'the job to be taken over');
    await sleep(700);
    expect(await second.stop('SIGTERM')).toBe(0);
    const { rows } = await store.pool.query('SELECT status, attempt FROM mechanism_jobs WHERE id = $1', [
      job,
    ]);
    if (rows[0].status !== 'succeeded') expect(rows).toEqual([{ status: 'queued', attempt: 1 }]);

    const third = await start();
    expect(await third.end(job)).toMatchObject({
      status: 'succeeded',
      attempt: 2,
      result: { mechanism: uninterrupted },
    });
  });

  it('says what is wrong with a data file', async () => {
    const service = services[services.length - 1];
    writeFileSync(path.join(home, 'cut.idx'), Buffer.from([0, 0, 8, 3, 0, 0, 0, 9]));
    const asked = async (images: string): Promise<JobDocument> =>
      service.end(await service.ask({ ...request, dataset: { source: 'idx', images } }));
    expect(await asked('cut.idx')).toMatchObject({
      status: 'failed',
      attempt: 1,
      error: { code: 'damaged-file', message: expect.stringContaining('cut.idx') },
    });
    expect((await asked('/etc/passwd')).error).toMatchObject({ code: 'outside-roots' });
  });
});
