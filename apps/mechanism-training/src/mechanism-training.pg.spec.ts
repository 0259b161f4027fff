import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Writable } from 'node:stream';
import { loadConfig, mechanismTrainingVariables } from '@undertone/config';
import { type ProblemDocument } from '@undertone/protocol';
import { createServiceApp, type ServiceApp } from '@undertone/service';
import { connectStore, type Store } from '@undertone/store';
import { startTestDatabase, type TestDatabase } from '@undertone/store/testing';
import { MechanismTrainingModule } from './mechanism-training.module';

const silence = new Writable({ write: (_chunk, _encoding, done) => done() });

describe('the HTTP API of mechanism-training', () => {
  let database: TestDatabase;
  let store: Store;
  let app: ServiceApp;
  let home: string;

  beforeAll(async () => {
    home = mkdtempSync(path.join(tmpdir(), 'undertone-mechanism-'));
    database = await startTestDatabase();
    store = connectStore(database.url);
    const config = {
      ...loadConfig(mechanismTrainingVariables, { UNDERTONE_HOME: home, UNDERTONE_PORT: '0' }),
      trainers: 0,
    };
    app = await createServiceApp(MechanismTrainingModule.register({ store, config }), {
      name: 'mechanism-training',
      config,
      logDestination: silence,
    });
    await app.listen();
  });

  afterAll(async () => {
    await app?.stop();
    await store.close();
    await database.stop();
    rmSync(home, { recursive: true, force: true });
  });

  async function call<T>(method: 'GET' | 'POST', where: string, body?: unknown) {
    const response = await fetch(`${app.url}${where}`, {
      method,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as T };
  }

  const request = {
    name: 'digits',
    dataset: { source: 'mnist', part: 'train' },
    d1: 'public',
    epsilon: 8,
  };

  it('queues a job with every default filled in, shows and cancels it', async () => {
    const { status, body } = await call<{ id: string }>('POST', '/v1/mechanisms/jobs', request);
    expect(status).toBe(202);
    expect(body).toMatchObject({ kind: 'fit-mechanism', status: 'queued', attempt: 0, error: null });
    const { rows } = await store.pool.query('SELECT request FROM mechanism_jobs WHERE id = $1', [body.id]);
    expect(rows[0].request).toEqual({ ...request, lambda: 0.5, seed: 0, prototypes: 500, settings: {} });

    const shown = await call<{ id: string }>('GET', `/v1/mechanisms/jobs/${body.id}`);
    expect(shown.body).toEqual(body);
    const listed = await call<{ jobs: { id: string }[] }>('GET', '/v1/mechanisms/jobs');
    expect(listed.body.jobs.map(({ id }) => id)).toEqual([body.id]);
    const cancelled = await call('POST', `/v1/mechanisms/jobs/${body.id}/cancel`);
    expect(cancelled).toMatchObject({ status: 202, body: { status: 'cancelled' } });
  });

  it.each<[string, object, string, RegExp]>([
    ['no word on who protects D1', { d1: undefined }, 'd1', /say "public"/],
    ['a promise about D1 that nothing keeps', { d1: 'central-dp' }, 'd1', /say "public"/],
    ['a claim typed in', { claim: { epsilon: 1 } }, 'claim', /not a known field/],
    ['no budget', { epsilon: 0 }, 'epsilon', /expected number to be >=/],
    ['a share of 1', { lambda: 1 }, 'lambda', /expected number to be <1/],
    ['a share that leaves nothing', { epsilon: 2e-6, lambda: 0.9 }, 'lambda', /ε of the label is/],
    ['an unknown setting', { settings: { epoch: 3 } }, 'settings.epoch', /not a known field/],
    ['a setting out of range', { settings: { epochs: 0 } }, 'settings.epochs', /expected number to be >=1/],
    ['no such source', { dataset: { source: 'csv' } }, 'dataset.source', /Invalid/],
    ['a label twice', { labels: ['a', 'b', 'a'] }, 'labels', /names a label twice/],
    ['no name', { name: '  ' }, 'name', /expected string to have >=1/],
    ['a broken seed', { seed: 1.5 }, 'seed', /expected int/],
  ])('refuses %s', async (_, change, field, detail) => {
    const { status, body } = await call<ProblemDocument>('POST', '/v1/mechanisms/jobs', {
      ...request,
      ...change,
    });
    expect(status).toBe(400);
    expect(body.type).toBe('urn:undertone:problem:invalid-request');
    expect(body.errors).toEqual([{ field, detail: expect.stringMatching(detail) }]);
  });

  it.each<['GET' | 'POST', string, string]>([
    ['GET', '/v1/mechanisms/jobs/0190b5f0-0000-7000-8000-000000000000', 'unknown-job'],
    ['GET', '/v1/mechanisms/jobs/nonsense', 'unknown-job'],
    ['POST', '/v1/mechanisms/jobs/nonsense/cancel', 'unknown-job'],
    ['GET', '/v1/mechanisms/nonsense', 'unknown-mechanism'],
  ])('answers %s %s with 404', async (method, where, kind) => {
    const { status, body } = await call<ProblemDocument>(method, where);
    expect(status).toBe(404);
    expect(body.type).toBe(`urn:undertone:problem:${kind}`);
  });

  it('refuses to cancel what has ended', async () => {
    const { body } = await call<{ id: string }>('POST', '/v1/mechanisms/jobs', request);
    await store.pool.query(`UPDATE mechanism_jobs SET status = 'succeeded' WHERE id = $1`, [body.id]);
    expect(await call('POST', `/v1/mechanisms/jobs/${body.id}/cancel`)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('has already succeeded') },
    });
  });

  it('describes itself', async () => {
    const { body } = await call<{ paths: object; components: { schemas: object } }>(
      'GET',
      '/docs/openapi.json',
    );
    expect(Object.keys(body.paths)).toEqual(
      expect.arrayContaining([
        '/v1/mechanisms',
        '/v1/mechanisms/{id}',
        '/v1/mechanisms/{id}/reconstructions',
        '/v1/mechanisms/jobs',
        '/v1/mechanisms/jobs/{id}',
        '/v1/mechanisms/jobs/{id}/cancel',
        '/v1/signing-keys',
      ]),
    );
    expect(JSON.stringify(body.components.schemas)).toContain('How the people in D1 are protected');
  });
});
