import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Writable } from 'node:stream';
import { generateSigningKey, mechanismClaim, sealArtifact } from '@undertone/artifact';
import { Classifier } from '@undertone/classification';
import { classifierTrainingVariables, loadConfig } from '@undertone/config';
import { createRandomiser, type RandomiserSpec, WebCryptoRandom } from '@undertone/ldp';
import { type ProblemDocument } from '@undertone/protocol';
import { createServiceApp, type ServiceApp } from '@undertone/service';
import { connectStore, type Store } from '@undertone/store';
import { startTestDatabase, type TestDatabase } from '@undertone/store/testing';
import { ClassifierTrainingModule } from './classifier-training.module';
import { type Prediction } from './classifiers/predict';

const random = new WebCryptoRandom();
const spec: RandomiserSpec = {
  kind: 'factorised',
  representation: { kind: 'laplace-l1', dimension: 2, radius: 1, epsilon: 4 },
  label: { kind: 'k-rr', classes: 2, epsilon: 4 },
};
const randomiser = createRandomiser(spec);
const labels = ['left', 'right'];
/** z = ν(x) of images of two pixels. */
const sealed = sealArtifact(
  {
    name: 'sides',
    schema: { kind: 'image', height: 1, width: 2, channels: 1, maximum: 255 },
    labels,
    encoder: {
      layers: [{ inputs: 2, outputs: 2, activation: 'linear' }],
      projection: { kind: 'l1-ball', radius: 1 },
    },
    randomiser: spec,
    claim: mechanismClaim(randomiser, { kind: 'public' }),
    lineage: {},
  },
  [Float32Array.of(1, 0, 0, 1), new Float32Array(2)],
  generateSigningKey(random),
);
const classifier = new Classifier({
  labels,
  randomiser,
  prior: { dimension: 2, points: Float32Array.of(1, 0, 0, 1), weights: Float64Array.of(0.5, 0.5) },
  layers: [{ inputs: 2, outputs: 2, activation: 'linear' }],
  weights: [Float32Array.of(2, 0, 0, 2), new Float32Array(2)],
  lineage: { seed: 0, engine: { name: 'none', library: 'none' } },
});

describe('the HTTP API of classifier-training', () => {
  let database: TestDatabase;
  let store: Store;
  let app: ServiceApp;
  let home: string;

  beforeAll(async () => {
    home = mkdtempSync(path.join(tmpdir(), 'undertone-classifier-'));
    database = await startTestDatabase();
    store = connectStore(database.url);
    const config = {
      ...loadConfig(classifierTrainingVariables, { UNDERTONE_HOME: home, UNDERTONE_PORT: '0' }),
      trainers: 0,
    };
    app = await createServiceApp(ClassifierTrainingModule.register({ store, config }), {
      name: 'classifier-training',
      config,
      logDestination: new Writable({ write: (_chunk, _encoding, done) => done() }),
    });
    await app.listen();
    await store.mechanisms.publish({
      id: sealed.id,
      name: 'sides',
      signer: 'none',
      file: sealed.file,
      claim: {},
      lineage: {},
      metrics: {},
    });
    await store.tasks.create({
      name: 'sides',
      artifact: sealed.id,
      labels,
      opensAt: new Date(0),
      minimumBatch: 2,
      perPersonCap: 1,
    });
    await store.classifiers.save({
      id: 'c1',
      name: 'sides',
      task: 'sides',
      artifact: sealed.id,
      objective: 'marginalised',
      settings: {},
      metrics: { reports: 2, loss: 0 },
      lineage: classifier.lineage,
      file: classifier.serialise(),
    });
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
  const predict = <T>(body: unknown, id = 'c1') => call<T>('POST', `/v1/classifiers/${id}/predict`, body);

  it('wants the minimum batch before it takes a job', async () => {
    const ask = () => call<ProblemDocument>('POST', '/v1/classifiers/jobs', { name: 'sides', task: 'sides' });
    const addReport = (id: number) =>
      store.pool.query('INSERT INTO reports (task, id, artifact, payload) VALUES ($1, $2, $3, $4)', [
        'sides',
        Buffer.alloc(16, id),
        sealed.id,
        Buffer.from(randomiser.randomise([1, 0], 0, random)),
      ]);
    await addReport(1);
    expect(await ask()).toMatchObject({
      status: 409,
      body: {
        type: 'urn:undertone:problem:too-few-reports',
        detail:
          'Task "sides" has 1 report and nothing is fitted on fewer than 2, its minimum batch: wait for more.',
      },
    });
    await addReport(2);
    expect(await ask()).toMatchObject({ status: 202, body: { kind: 'fit-classifier', status: 'queued' } });
  });

  it('takes no job on reports that are deleted', async () => {
    await store.tasks.create({
      name: 'closed',
      artifact: sealed.id,
      labels,
      opensAt: new Date(0),
      closesAt: new Date(1),
      minimumBatch: 1,
      perPersonCap: 1,
    });
    await store.reportPartitions.expire(new Date(2));
    expect(
      await call<ProblemDocument>('POST', '/v1/classifiers/jobs', { name: 'closed', task: 'closed' }),
    ).toMatchObject({
      status: 410,
      body: {
        type: 'urn:undertone:problem:reports-deleted',
        detail: expect.stringMatching(/^the reports of task "closed" were deleted on /),
      },
    });
  });

  it.each<[string, object, string, RegExp]>([
    ['an unknown field', { labels: ['a'] }, 'labels', /not a known field/],
    ['a task that can not be', { task: 'No Slug' }, 'task', /./],
    ['an unknown setting', { settings: { epoch: 3 } }, 'settings.epoch', /not a known field/],
    ['a setting out of range', { settings: { batch: 0 } }, 'settings.batch', /expected number to be >=1/],
    ['no data set', { evaluation: {} }, 'evaluation.dataset', /Invalid/],
  ])('refuses a job with %s', async (_, change, field, detail) => {
    const { status, body } = await call<ProblemDocument>('POST', '/v1/classifiers/jobs', {
      name: 'sides',
      task: 'sides',
      ...change,
    });
    expect(status).toBe(400);
    expect(body.errors).toEqual([{ field, detail: expect.stringMatching(detail) }]);
  });

  it('answers what is not there with 404', async () => {
    const job = { name: 'x', task: 'nowhere' };
    for (const [answer, kind] of [
      [await call<ProblemDocument>('POST', '/v1/classifiers/jobs', job), 'unknown-task'],
      [await call<ProblemDocument>('GET', '/v1/classifiers/jobs/nonsense'), 'unknown-job'],
      [await call<ProblemDocument>('GET', '/v1/classifiers/nowhere'), 'unknown-classifier'],
      [await predict<ProblemDocument>({ records: [[0, 0]] }, 'nowhere'), 'unknown-classifier'],
    ] as const) {
      expect(answer).toMatchObject({ status: 404, body: { type: `urn:undertone:problem:${kind}` } });
    }
  });

  it('shows a classifier by id and by name', async () => {
    const { body } = await call('GET', '/v1/classifiers/c1');
    expect(body).toMatchObject({ id: 'c1', task: 'sides', artifact: sealed.id, metrics: { reports: 2 } });
    expect((await call('GET', '/v1/classifiers/sides')).body).toEqual(body);
    expect((await call('GET', '/v1/classifiers')).body).toEqual({ classifiers: [body] });
  });

  it('predicts clean records as softmax of the network at their codes', async () => {
    const { status, body } = await predict<{ labels: string[]; predictions: Prediction[] }>({
      records: [
        [255, 0],
        [51, 153],
      ],
    });
    expect(status).toBe(200);
    expect(body.labels).toEqual(labels);
    expect(body.predictions.map(({ label }) => label)).toEqual(['left', 'right']);
    // Softmax of two logits 2·z: the logistic function of their difference.
    expect(body.predictions[0].probabilities[0]).toBeCloseTo(1 / (1 + Math.exp(-2)), 6);
    expect(body.predictions[1].probabilities[0]).toBeCloseTo(1 / (1 + Math.exp(0.8)), 6);
  });

  it('predicts privatised records over the points that they may have come from', async () => {
    const payload = randomiser.input!.randomise([1, 0], random);
    const { body } = await predict<{ predictions: Prediction[] }>({
      payloads: [Buffer.from(payload).toString('base64')],
    });
    const [atLeft, atRight] = [
      [1, 0],
      [0, 1],
    ].map((z) => Math.exp(randomiser.input!.logLikelihood(payload, z)));
    const left = 1 / (1 + Math.exp(-2));
    expect(body.predictions[0].probabilities[0]).toBeCloseTo(
      (atLeft * left + atRight * (1 - left)) / (atLeft + atRight),
      6,
    );
  });

  it.each<[string, object, string, RegExp]>([
    ['a record of another size', { records: [[0, 0], [1]] }, 'records[1]', /has 1 numbers: it must have 2/],
    ['a pixel out of range', { records: [[0, 300]] }, 'records[0]', /pixel 1 is 300/],
    ['a row where an image is wanted', { records: [{ a: 1 }] }, 'records[0]', /isn't an array/],
    ['a payload cut short', { payloads: ['AAAA'] }, 'payloads[0]', /3 bytes/],
  ])('refuses to predict %s', async (_, body, field, detail) => {
    const answer = await predict<ProblemDocument>(body);
    expect(answer.status).toBe(422);
    expect(answer.body.type).toBe('urn:undertone:problem:invalid-record');
    expect(answer.body.errors).toEqual([{ field, detail: expect.stringMatching(detail) }]);
  });

  it.each([{}, { records: [[0, 0]], payloads: ['AAAA'] }, { records: [] }, { payloads: ['%'] }])(
    'refuses %j as a request',
    async (body) => {
      expect(await predict(body)).toMatchObject({ status: 400 });
    },
  );
});
