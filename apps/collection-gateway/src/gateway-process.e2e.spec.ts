import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { encodeReports } from '@undertone/protocol';
import { connectStore, type Store } from '@undertone/store';
import { startTestDatabase, type TestDatabase } from '@undertone/store/testing';

import { publishSample } from '../test/sample-artifact';
import { sampleReport, sampleTask } from '../test/sample-task';

const PROGRAM = path.resolve(__dirname, '..', 'dist', 'main.js');
const DYING_SUBSCRIPTION = path.resolve(__dirname, '..', 'test', 'dying-subscription.cjs');

interface Running {
  readonly url: Promise<string>;
  /** Exit code and all that it wrote, once it has ended. */
  readonly ended: Promise<{ code: number | null; said: string }>;
  stop(): void;
}

let database: TestDatabase;
let store: Store;
let folder: string;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  database = await startTestDatabase();
  store = connectStore(database.url);
  await publishSample(store);
}, 60_000);
afterAll(async () => {
  await store.close();
  await database.stop();
});
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'undertone-gateway-'));
  // The embedded database runs under an account of its own.
  chmodSync(folder, 0o755);
});
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
  rmSync(folder, { recursive: true, force: true });
});

function run(variables: NodeJS.ProcessEnv, ...options: string[]): Running {
  const child = spawn(process.execPath, [...options, PROGRAM], {
    cwd: folder,
    env: { UNDERTONE_PORT: '0', UNDERTONE_LOG_LEVEL: 'warn', UNDERTONE_HOME: folder, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  const lines: string[] = [];
  let answers: (url: string) => void;
  const url = new Promise<string>((resolve) => (answers = resolve));
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      lines.push(line);
      const found = /answers at (http:\S+)/.exec(line)?.[1];
      if (found !== undefined) answers(found);
    });
  }
  const ended = new Promise<{ code: number | null; said: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, said: lines.join('\n') })),
  );
  const early = ended.then(({ said }) => {
    throw new Error(`it ended before it answered: ${said}`);
  });
  const answering = Promise.race([url, early]);
  answering.catch(() => undefined);
  return { url: answering, ended, stop: () => void child.kill('SIGTERM') };
}

const ask = async (url: string): Promise<{ status: number; body: Record<string, unknown> }> => {
  const answer = await fetch(url);
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
};

async function makeTask(url: string, name: string): Promise<ReturnType<typeof sampleTask>> {
  const [{ id: artifact }] = await store.mechanisms.list();
  const made = await fetch(`${url}/v1/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, artifact }),
  });
  expect(made.status).toBe(201);
  return sampleTask(name, { artifact });
}

const send = (url: string, task: ReturnType<typeof sampleTask>, from: number, count: number) =>
  fetch(`${url}/v1/tasks/${task.name}/reports`, {
    method: 'POST',
    headers: { 'content-type': 'application/cbor' },
    body: encodeReports(Array.from({ length: count }, (_, i) => sampleReport(task, from + i))),
  });

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10));

describe('a gateway whose ingest can’t go on ends, for its supervisor to start another', () => {
  it('when its subscription dies: in order, and with the reason', async () => {
    const file = path.join(folder, 'die');
    const gateway = run(
      { DATABASE_URL: database.url, DYING_SUBSCRIPTION_FILE: file },
      '--require',
      DYING_SUBSCRIPTION,
    );
    expect((await ask(`${await gateway.url}/health/live`)).status).toBe(200);
    writeFileSync(file, '');
    const { code, said } = await gateway.ended;
    expect(code).toBe(1);
    expect(said).toContain('error: the ingest of reports has ended by itself: the group is gone');
  }, 60_000);

  it('when it does nothing any more, even though its handler never ends', async () => {
    const gateway = run({
      DATABASE_URL: database.url,
      UNDERTONE_INGEST_STALL_MS: '1000',
      UNDERTONE_SHUTDOWN_TIMEOUT_MS: '1500',
    });
    const url = await gateway.url;
    const task = await makeTask(url, 'stall');
    expect((await send(url, task, 0, 3)).status).toBe(202);
    while ((await ask(`${url}/v1/tasks/stall/counts`)).body.waiting !== 0) await pause();
    const locker = await store.pool.connect();
    try {
      await locker.query('BEGIN; LOCK TABLE ingest_positions IN ACCESS EXCLUSIVE MODE');
      expect((await send(url, task, 3, 3)).status).toBe(202);
      let live: { status: number; body: Record<string, unknown> };
      do {
        await pause();
        live = await ask(`${url}/health/live`).catch(() => ({ status: 503, body: {} }));
      } while (live.status === 200);
      const { code, said } = await gateway.ended;
      expect(code).toBe(1);
      expect(said).toMatch(/error: the ingest of reports has done nothing for \d+ ms/);
    } finally {
      await locker.query('ROLLBACK');
      locker.release();
    }
    // What it had taken is stored by the next one.
    const next = run({ DATABASE_URL: database.url });
    while ((await ask(`${await next.url}/v1/tasks/stall/counts`)).body.waiting !== 0) await pause();
    expect(await store.reports.count('stall')).toBe(6);
    next.stop();
    expect((await next.ended).code).toBe(0);
  }, 60_000);
});

describe('the parts of a gateway', () => {
  it('edge takes reports and stores none; ingest stores them and has no route for them', async () => {
    const edge = run({ DATABASE_URL: database.url, UNDERTONE_GATEWAY_PARTS: 'edge' });
    const url = await edge.url;
    const task = await makeTask(url, 'parts');
    expect((await send(url, task, 0, 5)).status).toBe(202);
    expect((await ask(`${url}/v1/tasks/parts/counts`)).body).toMatchObject({ stored: 0, waiting: 5 });
    expect(await ask(`${url}/health/ready`)).toMatchObject({
      status: 200,
      body: { details: { 'report log': { status: 'up', lagEntries: 5 } } },
    });
    expect(await (await fetch(`${url}/metrics`)).text()).not.toContain('undertone_ingest_');

    const ingest = run({ DATABASE_URL: database.url, UNDERTONE_GATEWAY_PARTS: 'ingest' });
    const other = await ingest.url;
    expect((await send(other, task, 5, 5)).status).toBe(404);
    while ((await ask(`${url}/v1/tasks/parts/counts`)).body.waiting !== 0) await pause();
    expect((await ask(`${url}/v1/tasks/parts/counts`)).body).toMatchObject({ stored: 5, waiting: 0 });
    expect(await ask(`${other}/health/ready`)).toMatchObject({
      status: 200,
      body: { details: { ingest: { status: 'up', lastActiveSeconds: expect.any(Number) } } },
    });
    expect(await (await fetch(`${other}/metrics`)).text()).toMatch(/undertone_ingest_last_active_seconds \d/);

    for (const process of [edge, ingest]) {
      process.stop();
      expect((await process.ended).code).toBe(0);
    }
  }, 60_000);
});

it('says what to do where the brokers can’t be reached, and leaves nothing running', async () => {
  const gateway = run({ KAFKA_BROKERS: '127.0.0.1:1,127.0.0.1:2', KAFKA_CONNECT_TIMEOUT_MS: '500' });
  const { code, said } = await gateway.ended;
  expect(code).toBe(1);
  expect(said).toMatch(
    /^error: Kafka's brokers can't be reached: .* KAFKA_BROKERS is 127\.0\.0\.1:1,127\.0\.0\.1:2; none of them was of use within 500 ms .* or unset it/m,
  );
  // The embedded database was there before the brokers were asked.
  const files = readdirSync(path.join(folder, 'postgres'), { recursive: true }).map(String);
  const named = (name: string) => files.filter((file) => path.basename(file) === name);
  expect(named('pg_control')).toHaveLength(1);
  expect(named('postmaster.pid')).toEqual([]);
}, 60_000);
