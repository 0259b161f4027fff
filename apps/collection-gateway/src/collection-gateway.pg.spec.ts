import { encodeReport, encodeReports, type Report } from '@undertone/protocol';
import { type ReportLog, ReportLogError } from '@undertone/report-log';
import { createServiceApp, type ServiceApp } from '@undertone/service';
import { connectStore, type Store } from '@undertone/store';
import { startTestDatabase, type TestDatabase } from '@undertone/store/testing';

import { publishSample } from '../test/sample-artifact';
import { impossiblePayload, sampleReport, sampleTask } from '../test/sample-task';
import { CollectionGatewayModule } from './collection-gateway.module';
import { gatewayProblem } from './gateway-problem';
import { type CollectionTask } from './tasks/collection-task';

const CBOR = 'application/cbor';
const JSON_TYPE = 'application/json';

let database: TestDatabase;
let store: Store;
let app: ServiceApp;
let artifact: { id: string; file: Uint8Array; signer: string };
let logged: string;
const written: string[] = [];

beforeAll(async () => {
  database = await startTestDatabase();
  store = connectStore(database.url);
  artifact = await publishSample(store);
  app = await start();
});
afterAll(async () => {
  await app.stop();
  await store.close();
  await database.stop();
});

async function start(reportLog?: ReportLog): Promise<ServiceApp> {
  const config = { host: '127.0.0.1', port: 0, logLevel: 'info' as const };
  const service = await createServiceApp(CollectionGatewayModule.register({ store, reportLog }), {
    name: 'collection-gateway',
    config,
    problems: [gatewayProblem],
    logDestination: { write: (line: string) => void written.push(line) },
  });
  await service.listen();
  return service;
}

const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  fetch(`${app.url}${path}`, {
    method,
    headers: { ...(body !== undefined && { 'content-type': JSON_TYPE }), ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });

const send = (task: string, body: Uint8Array | string, type: string | null = CBOR, headers = {}) =>
  fetch(`${app.url}/v1/tasks/${task}/reports`, {
    method: 'POST',
    headers: { ...(type !== null && { 'content-type': type }), ...headers },
    body,
  });

let number = 0;

async function makeTask(fields: Record<string, unknown> = {}): Promise<CollectionTask> {
  const name = `task-${++number}`;
  const response = await call('POST', '/v1/tasks', { name, artifact: artifact.id, ...fields });
  expect(response.status).toBe(201);
  return sampleTask(name, { artifact: artifact.id });
}

async function settled(task: string): Promise<Record<string, unknown>> {
  for (;;) {
    const counts = (await (await call('GET', `/v1/tasks/${task}/counts`)).json()) as { waiting: number };
    if (counts.waiting === 0) return counts;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The answer must be a problem document of this kind. */
async function expectProblem(
  response: Response,
  status: number,
  kind: string,
  detail: RegExp | string,
): Promise<Record<string, unknown>> {
  const document = (await response.json()) as Record<string, unknown>;
  expect(document).toMatchObject({
    type: `urn:undertone:problem:${kind}`,
    status,
    detail: expect.stringMatching(detail),
    correlationId: expect.any(String),
  });
  expect(response.status).toBe(status);
  expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  return document;
}

describe('tasks', () => {
  it('a task is made with defaults from its artifact', async () => {
    const response = await call('POST', '/v1/tasks', { name: 'defaults', artifact: artifact.id });
    expect(response.status).toBe(201);
    expect(await response.json()).toEqual({
      name: 'defaults',
      artifact: artifact.id,
      signer: artifact.signer,
      labels: ['rain', 'snow', 'sun'],
      epsilon: 6,
      opensAt: expect.stringMatching(/^\d{4}-.*Z$/),
      closesAt: null,
      minimumBatch: 100,
      perPersonCap: 1,
      status: 'open',
    });
    const { tasks } = (await (await call('GET', '/v1/tasks')).json()) as { tasks: { name: string }[] };
    expect(tasks[0].name).toBe('defaults');
  });

  it('a task is made as asked', async () => {
    const asked = {
      labels: ['rain', 'snow', 'sun'],
      opensAt: '2100-01-01T02:00:00+02:00',
      closesAt: '2100-02-01T00:00:00Z',
      minimumBatch: 7,
      perPersonCap: 3,
    };
    const { name } = await makeTask(asked);
    expect(await (await call('GET', `/v1/tasks/${name}`)).json()).toMatchObject({
      ...asked,
      opensAt: '2100-01-01T00:00:00.000Z',
      closesAt: '2100-02-01T00:00:00.000Z',
      status: 'scheduled',
    });
  });

  it.each([
    ['a name that is no slug', { name: 'Not A Slug' }, 400, 'invalid-request', /name: .*a-z/],
    ['an artifact that is no id', { artifact: 'abc' }, 400, 'invalid-request', /artifact: .*64/],
    ['an unknown artifact', { artifact: 'f'.repeat(64) }, 404, 'unknown-artifact', /f{64}/],
    [
      'labels other than the artifact’s',
      { labels: ['rain', 'sun', 'snow'] },
      400,
      'invalid-request',
      /labels: .*rain, snow, sun/,
    ],
    [
      'an end before the start',
      { opensAt: '2100-01-02T00:00:00Z', closesAt: '2100-01-01T00:00:00Z' },
      400,
      'invalid-request',
      /closesAt: is 2100-01-01.*after/,
    ],
    [
      'an end that is past',
      { opensAt: '2000-01-01T00:00:00Z', closesAt: '2001-01-01T00:00:00Z' },
      400,
      'invalid-request',
      /closesAt: .*future/,
    ],
    ['a time without a zone', { opensAt: '2100-01-01T00:00:00' }, 400, 'invalid-request', /opensAt: .*zone/],
    ['a minimum batch of none', { minimumBatch: 0 }, 400, 'invalid-request', /minimumBatch/],
    [
      'an unknown field',
      { minimumBatches: 5 },
      400,
      'invalid-request',
      /minimumBatches: is not a known field/,
    ],
  ])('%s is refused', async (_, fields, status, kind, detail) => {
    const body = { name: `refused-${++number}`, artifact: artifact.id, ...fields };
    await expectProblem(await call('POST', '/v1/tasks', body), status, kind, detail);
    await expectProblem(await call('GET', `/v1/tasks/refused-${number}`), 404, 'unknown-task', /refused-/);
  });

  it('a name is taken once', async () => {
    const { name } = await makeTask();
    await expectProblem(
      await call('POST', '/v1/tasks', { name, artifact: artifact.id }),
      409,
      'name-taken',
      new RegExp(name),
    );
  });

  it('the document is cached until it changes', async () => {
    const { name } = await makeTask();
    const first = await call('GET', `/v1/tasks/${name}`);
    expect(first.headers.get('cache-control')).toBe('public, max-age=60');
    const tag = first.headers.get('etag')!;
    const again = await call('GET', `/v1/tasks/${name}`, undefined, { 'if-none-match': tag });
    expect(again.status).toBe(304);
    expect(again.headers.get('etag')).toBe(tag);
    expect(await again.text()).toBe('');
    const closed = await call('POST', `/v1/tasks/${name}/close`);
    expect(closed.status).toBe(200);
    expect(await closed.json()).toMatchObject({ name, status: 'closed', closesAt: expect.any(String) });
    const after = await call('GET', `/v1/tasks/${name}`, undefined, { 'if-none-match': tag });
    expect(after.status).toBe(200);
    expect(await after.json()).toMatchObject({ status: 'closed' });
  });

  it('closing again changes nothing', async () => {
    const { name } = await makeTask();
    const first = await (await call('POST', `/v1/tasks/${name}/close`)).json();
    expect(await (await call('POST', `/v1/tasks/${name}/close`)).json()).toEqual(first);
    await expectProblem(await call('POST', '/v1/tasks/nowhere/close'), 404, 'unknown-task', 'nowhere');
  });
});

describe('artifacts', () => {
  it('are served byte for byte, for ever', async () => {
    const response = await call('GET', `/v1/artifacts/${artifact.id}`);
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(new Uint8Array(artifact.file));
    const again = await call('GET', `/v1/artifacts/${artifact.id}`, undefined, {
      'if-none-match': response.headers.get('etag')!,
    });
    expect(again.status).toBe(304);
  });

  it.each(['0'.repeat(64), 'short'])('there is none called %s', async (id) => {
    await expectProblem(await call('GET', `/v1/artifacts/${id}`), 404, 'unknown-artifact', id);
  });
});

describe('reports', () => {
  let task: CollectionTask;
  const good = (count: number, from = 0): Report[] =>
    Array.from({ length: count }, (_, i) => sampleReport(task, from + i));

  beforeEach(async () => {
    task = await makeTask();
  });

  it.each([CBOR, JSON_TYPE, 'Application/JSON; charset=utf-8'] as const)(
    'a %s batch is stored as it was sent',
    async (type) => {
      const reports = good(5);
      const response = await send(task.name, encodeReports(reports, type === CBOR ? CBOR : JSON_TYPE), type);
      expect(await response.json()).toEqual({ accepted: 5, rejected: [] });
      expect(response.status).toBe(202);
      expect(await settled(task.name)).toEqual({
        task: task.name,
        stored: 5,
        repeated: 0,
        rejected: {},
        waiting: 0,
      });
      const stored: Record<string, string> = {};
      for await (const batch of store.reports.read(task.name)) {
        for (const { id, payload } of batch) stored[hex(id)] = hex(payload);
      }
      expect(stored).toEqual(Object.fromEntries(reports.map(({ id, payload }) => [hex(id), hex(payload)])));
    },
  );

  it('a single report is stored', async () => {
    expect(await (await send(task.name, encodeReport(good(1)[0]))).json()).toEqual({
      accepted: 1,
      rejected: [],
    });
    expect(await settled(task.name)).toMatchObject({ stored: 1 });
  });

  it('a second send of the same bytes is accepted, stores nothing and says "repeated"', async () => {
    const body = encodeReports(good(1000));
    for (let i = 0; i < 2; i++)
      expect(await (await send(task.name, body)).json()).toMatchObject({ accepted: 1000 });
    expect(await settled(task.name)).toMatchObject({ stored: 1000, repeated: 1000, rejected: {} });
    expect(await store.reports.count(task.name)).toBe(1000);
  });

  it('the good reports of a batch are taken, the bad ones told and counted', async () => {
    const bad = [
      sampleReport(task, 10, { task: 'elsewhere' }),
      sampleReport(task, 11, { artifact: 'b'.repeat(64) }),
      sampleReport(task, 12, { payload: impossiblePayload() }),
      sampleReport(task, 13, { payload: impossiblePayload() }),
    ];
    const response = await send(task.name, encodeReports([...good(2), ...bad]));
    expect(response.status).toBe(202);
    const receipt = (await response.json()) as {
      accepted: number;
      rejected: { index: number; reason: string }[];
    };
    expect(receipt.accepted).toBe(2);
    expect(receipt.rejected.map(({ index, reason }) => [index, reason])).toEqual([
      [2, 'wrong-task'],
      [3, 'wrong-artifact'],
      [4, 'impossible-payload'],
      [5, 'impossible-payload'],
    ]);
    expect(await settled(task.name)).toMatchObject({
      stored: 2,
      rejected: { 'wrong-task': 1, 'wrong-artifact': 1, 'impossible-payload': 2 },
    });
  });

  it('where every report is bad, the answer is a problem that is a receipt too', async () => {
    const body = encodeReports([sampleReport(task, 1, { artifact: 'b'.repeat(64) })]);
    const problem = await expectProblem(
      await send(task.name, body),
      422,
      'reports-rejected',
      /wrong-artifact.*b{64}/,
    );
    expect(problem).toMatchObject({ accepted: 0, rejected: [{ index: 0, reason: 'wrong-artifact' }] });
    expect(await settled(task.name)).toMatchObject({ stored: 0, rejected: { 'wrong-artifact': 1 } });
  });

  const truncated = (): Uint8Array => encodeReports(good(3)).slice(0, -5);
  it.each<[string, () => Uint8Array | string, string | null, number, string, RegExp]>([
    ['truncated CBOR', truncated, CBOR, 400, 'malformed-body', /truncated|ends/i],
    ['CBOR that is no report', () => Buffer.from([0x01]), CBOR, 400, 'malformed-body', /expected a report/],
    ['no body', () => new Uint8Array(), CBOR, 400, 'malformed-body', /ends|truncated|empty/i],
    ['broken JSON', () => '{"reports": [', JSON_TYPE, 400, 'malformed-body', /JSON/],
    ['JSON called CBOR', () => '{"reports": []}', CBOR, 400, 'malformed-body', /./],
    ['an empty batch', () => '{"reports": []}', JSON_TYPE, 400, 'empty-batch', /at least one/],
    ['text', () => 'hello', 'text/plain', 415, 'unsupported-media-type', /application\/cbor/],
    ['no media type', () => Buffer.from([0xa0]), null, 415, 'unsupported-media-type', /application\/cbor/],
    ['1,001 reports', () => encodeBatch(1001), CBOR, 413, 'batch-too-large', /1001.*1000/],
    ['a body above 1 MiB', () => new Uint8Array(1024 * 1024 + 1), CBOR, 413, 'body-too-large', /1048576/],
  ])('%s is refused as a whole', async (_, body, type, status, kind, detail) => {
    await expectProblem(await send(task.name, body(), type), status, kind, detail);
    expect(await settled(task.name)).toMatchObject({ stored: 0, rejected: {} });
  });

  /** Past the encoder's own limit: the array's head is written by hand. */
  function encodeBatch(count: number): Uint8Array {
    const head = Buffer.from('a1677265706f727473990000', 'hex');
    head.writeUInt16BE(count, 10);
    return Buffer.concat([head, ...good(count).map((report) => encodeReport(report))]);
  }

  it('a compressed body is refused: it would be read as something else', async () => {
    const response = await send(task.name, encodeReports(good(1)), CBOR, { 'content-encoding': 'gzip' });
    await expectProblem(response, 415, 'unsupported-media-type', /Content-Encoding gzip/);
  });

  it('unknown, scheduled and closed tasks take nothing, and say why', async () => {
    const body = encodeReports(good(1));
    await expectProblem(await send('nowhere', body), 404, 'unknown-task', /nowhere/);
    await expectProblem(await send('No%20Slug', body), 404, 'unknown-task', /No Slug/);
    const later = await makeTask({ opensAt: '2100-01-01T00:00:00Z' });
    await expectProblem(await send(later.name, body), 409, 'scheduled-task', /opens at 2100-01-01/);
    await call('POST', `/v1/tasks/${task.name}/close`);
    await expectProblem(await send(task.name, body), 410, 'closed-task', /closed at 20/);
    await expectProblem(await call('GET', '/v1/tasks/nowhere/counts'), 404, 'unknown-task', /nowhere/);
  });

  it('what was accepted just before the closing is stored after it', async () => {
    await send(task.name, encodeReports(good(3)));
    await call('POST', `/v1/tasks/${task.name}/close`);
    expect(await settled(task.name)).toMatchObject({ stored: 3, rejected: {} });
  });

  it('of two tasks, each has its own reports and counts', async () => {
    const other = await makeTask();
    await send(task.name, encodeReports(good(3)));
    await send(other.name, encodeReports([sampleReport(other, 0), sampleReport(other, 1)]));
    expect(await settled(task.name)).toMatchObject({ stored: 3 });
    expect(await settled(other.name)).toMatchObject({ stored: 2 });
  });

  it('concurrent senders of the same reports store each once', async () => {
    const bodies = Array.from({ length: 20 }, (_, i) => encodeReports(good(50, (i % 5) * 50)));
    const answers = await Promise.all(bodies.map((body) => send(task.name, body)));
    expect(answers.map(({ status }) => status)).toEqual(Array<number>(20).fill(202));
    expect(await settled(task.name)).toMatchObject({ stored: 250, repeated: 750 });
  });

  it('an ingest that fails says so in the log, and goes on where it stopped', async () => {
    written.length = 0;
    await store.pool.query('ALTER TABLE reports RENAME TO reports_away');
    expect((await send(task.name, encodeReports(good(7)))).status).toBe(202);
    while (!written.some((line) => line.includes('a batch failed'))) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await store.pool.query('ALTER TABLE reports_away RENAME TO reports');
    expect(await settled(task.name)).toMatchObject({ stored: 7, repeated: 0 });
    const line = JSON.parse(written.find((text) => text.includes('a batch failed'))!) as Record<
      string,
      unknown
    >;
    expect(line).toMatchObject({
      level: 'error',
      consumer: 'ingest/postgres',
      partition: 0,
      offsets: expect.stringMatching(/^\d+–\d+$/),
      err: { message: expect.stringContaining('reports') },
    });
  });

  it('consumed entries are swept from the log', async () => {
    await send(task.name, encodeReports(good(10)));
    await settled(task.name);
    const sweeping = await createServiceApp(CollectionGatewayModule.register({ store, sweepEveryMs: 5 }), {
      name: 'second',
      config: { host: '127.0.0.1', port: 0, logLevel: 'silent' },
    });
    await sweeping.listen();
    const left = async (): Promise<number> =>
      (await store.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM report_log_entries')).rows[0].n;
    while ((await left()) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await sweeping.stop();
    expect(await store.reports.count(task.name)).toBe(10);
  });

  it('reports of tasks that closed long enough ago go, and what was counted stays', async () => {
    await send(task.name, encodeReports(good(10)));
    await settled(task.name);
    const sweeping = await createServiceApp(
      CollectionGatewayModule.register({ store, sweepEveryMs: 5, reportRetentionDays: 0 }),
      { name: 'second', config: { host: '127.0.0.1', port: 0, logLevel: 'silent' } },
    );
    await sweeping.listen();
    expect((await store.tasks.find(task.name))?.reportsDroppedAt).toBeNull();
    await call('POST', `/v1/tasks/${task.name}/close`);
    const isGone = async (): Promise<boolean> =>
      (await store.tasks.find(task.name))?.reportsDroppedAt !== null;
    while (!(await isGone())) await new Promise((resolve) => setTimeout(resolve, 5));
    await sweeping.stop();
    expect(await (await call('GET', `/v1/tasks/${task.name}/counts`)).json()).toMatchObject({ stored: 10 });
  });

  it('writes neither address, agent, id nor payload of a sender anywhere', async () => {
    written.length = 0;
    const reports = [...good(2), sampleReport(task, 9, { payload: impossiblePayload() })];
    await send(task.name, encodeReports(reports), CBOR, {
      'user-agent': 'tell-tale-agent',
      'x-forwarded-for': '203.0.113.77',
    });
    await settled(task.name);
    const metrics = await (await call('GET', '/metrics')).text();
    expect(metrics).toMatch(/undertone_ingest_reports_total\{outcome="stored"\} \d/);
    expect(metrics).toContain('undertone_ingest_lag_entries 0');
    const dump = await store.pool.query(`
      SELECT string_agg(t::text, '') AS text FROM (
        SELECT row_to_json(r)::text FROM rejected_reports r UNION ALL SELECT row_to_json(o)::text FROM outcome_counts o
      ) AS t`);
    logged = written.join('') + metrics + String(dump.rows[0].text);
    expect(logged).toContain(task.name);
    const secrets = [
      'tell-tale',
      '203.0.113',
      '127.0.0.1',
      ...reports.flatMap(({ id, payload }) => [hex(id), hex(payload)]),
    ];
    for (const secret of secrets) expect(logged).not.toContain(secret);
  });
});

const failing = (error: ReportLogError): ReportLog => ({
  name: 'failing',
  append: () => Promise.reject(error),
  subscribe: () => ({
    lastActiveAt: () => new Date(),
    died: new Promise<Error>(() => undefined),
    stop: async () => undefined,
  }),
  lag: async () => 0,
  discard: async () => 0,
  close: async () => undefined,
});

describe('when the log can’t take reports', () => {
  it.each(['report-log-full', 'report-log-unavailable', 'report-log-closed'] as const)(
    '%s is answered with 503 and when to come back',
    async (code) => {
      const healthy = app;
      const task = await makeTask();
      app = await start(failing(new ReportLogError(code, 'can’t be written now', 3)));
      const response = await send(task.name, encodeReports([sampleReport(task, 1)]));
      expect(response.headers.get('retry-after')).toBe('3');
      await expectProblem(response, 503, 'unavailable', /can’t be written now/);
      await app.stop();
      app = healthy;
      expect(await settled(task.name)).toMatchObject({ stored: 0, rejected: {} });
    },
  );
});

it('is ready while the log answers, and says what is missing where it doesn’t', async () => {
  expect((await call('GET', '/health/ready')).status).toBe(200);
  const healthy = app;
  const away = {
    ...failing(new ReportLogError('report-log-closed', 'x', 1)),
    lag: () => Promise.reject(new Error('log is away')),
  };
  app = await start(away);
  await expectProblem(await call('GET', '/health/ready'), 503, 'unavailable', /report log: log is away/);
  expect(await (await call('GET', '/metrics')).text()).toContain('undertone_ingest_lag_entries Nan');
  await app.stop();
  app = healthy;
});

it('describes its API', async () => {
  const { paths } = (await (await call('GET', '/docs/openapi.json')).json()) as {
    paths: Record<string, unknown>;
  };
  expect(Object.keys(paths)).toEqual(
    expect.arrayContaining([
      '/v1/tasks',
      '/v1/tasks/{task}',
      '/v1/tasks/{task}/reports',
      '/v1/tasks/{task}/counts',
      '/v1/artifacts/{id}',
    ]),
  );
});

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
