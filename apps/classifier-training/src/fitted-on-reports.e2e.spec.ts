import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Artifact, openArtifact } from '@undertone/artifact';
import { ceiling, Classifier } from '@undertone/classification';
import { loadConfig, undertoneVariables } from '@undertone/config';
import { disjointSelections, loadDataset } from '@undertone/datasets';
import type { JobDocument } from '@undertone/jobs';
import { DeterministicRandom } from '@undertone/ldp/testing';
import { MechanismTrainingModule } from '@undertone/mechanism-training';
import { createServiceApp, type ServiceApp } from '@undertone/service';
import { connectStore, type Store } from '@undertone/store';
import { startTestDatabase, type TestDatabase } from '@undertone/store/testing';
import { ClassifierTrainingModule } from './classifier-training.module';
import { type ClassifierDocument } from './classifiers/classifier-document';
import { type Prediction } from './classifiers/predict';

jest.setTimeout(120_000);

const trainerOf = (app: string): string =>
  path.join(__dirname, '..', '..', app, 'dist', 'trainer', 'main.js');
const [forMechanism, forDevices] = disjointSelections(3, [800, 1_500]);
const train = { source: 'mnist', part: 'train' } as const;
const held = { source: 'mnist', part: 'test', select: { seed: 3, offset: 0, count: 500 } } as const;

describe('a classifier job', () => {
  let database: TestDatabase;
  let store: Store;
  let app: ServiceApp;
  let home: string;
  let artifact: Artifact;
  const log: { job?: string; pid?: number }[] = [];

  beforeAll(async () => {
    database = await startTestDatabase();
    store = connectStore(database.url);
    home = mkdtempSync(path.join(tmpdir(), 'undertone-classifier-'));
    const config = loadConfig(undertoneVariables, {
      UNDERTONE_HOME: home,
      UNDERTONE_PORT: '0',
      UNDERTONE_JOB_LEASE_MS: '2000',
    });
    const logDestination = new Writable({
      write: (chunk, _encoding, done) => {
        for (const line of String(chunk).split('\n')) if (line !== '') log.push(JSON.parse(line));
        done();
      },
    });
    app = await createServiceApp(
      [
        MechanismTrainingModule.register({
          store,
          config,
          trainerScript: trainerOf('mechanism-training'),
        }),
        ClassifierTrainingModule.register({
          store,
          config,
          trainerScript: trainerOf('classifier-training'),
        }),
      ],
      { name: 'training', config, logDestination },
    );
    await app.listen();
    artifact = await publishMechanism();
    await sendReports();
  });

  afterAll(async () => {
    await app?.stop();
    await store?.close();
    await database?.stop();
    rmSync(home, { recursive: true, force: true });
  });

  async function call<T>(method: 'GET' | 'POST', where: string, body?: unknown): Promise<T> {
    const response = await fetch(`${app.url}${where}`, {
      method,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const answer = (await response.json()) as T;
    if (!response.ok) throw new Error(`${response.status}: ${JSON.stringify(answer)}`);
    return answer;
  }

  async function end(where: string): Promise<JobDocument> {
    for (;;) {
      const job = await call<JobDocument>('GET', where);
      if (!['queued', 'running'].includes(job.status)) return job;
      await sleep(50);
    }
  }

  async function publishMechanism(): Promise<Artifact> {
    const { id } = await call<JobDocument>('POST', '/v1/mechanisms/jobs', {
      name: 'digits',
      dataset: { ...train, select: forMechanism },
      d1: 'public',
      epsilon: 24,
      prototypes: 100,
      settings: { hidden: [128], epochs: 80, batch: 64, peakLearningRate: 5e-3 },
    });
    const job = await end(`/v1/mechanisms/jobs/${id}`);
    if (job.status !== 'succeeded') throw new Error(JSON.stringify(job.error));
    const { mechanism } = job.result as { mechanism: string };
    return openArtifact((await store.mechanisms.read(mechanism, 'file'))!, { trustedKeys: 'any-signer' });
  }

  async function sendReports(): Promise<void> {
    await store.tasks.create({
      name: 'digits',
      artifact: artifact.id,
      labels: [...artifact.body.labels],
      opensAt: new Date(0),
      minimumBatch: 1_000,
      perPersonCap: 1,
    });
    const data = loadDataset({ ...train, select: forDevices }, { roots: [] });
    const random = new DeterministicRandom(1);
    const payloads = Array.from({ length: data.rows }, (_, i) =>
      Buffer.from(artifact.randomiser.randomise(artifact.encode(data.vector(i)), data.label(i), random)),
    );
    await store.pool.query(
      `INSERT INTO reports (task, id, artifact, payload)
       SELECT 'digits', id, $1, payload FROM unnest($2::bytea[], $3::bytea[]) AS r (id, payload)`,
      [
        artifact.id,
        payloads.map((_, i) => createHash('sha256').update(String(i)).digest().subarray(0, 16)),
        payloads,
      ],
    );
  }

  const request = {
    name: 'digits',
    task: 'digits',
    seed: 7,
    settings: { epochs: 30, batch: 128 },
    evaluation: { dataset: held, roof: { ...train, select: forDevices } },
  };
  let fitted: ClassifierDocument;

  it('fits on the reports alone, and is measured between floor, ceiling and roof', async () => {
    const { id } = await call<JobDocument>('POST', '/v1/classifiers/jobs', request);
    const job = await end(`/v1/classifiers/jobs/${id}`);
    expect(job).toMatchObject({ status: 'succeeded', attempt: 1, error: null });
    const { classifier } = job.result as { classifier: string };
    fitted = await call('GET', `/v1/classifiers/${classifier}`);

    expect(fitted).toMatchObject({
      name: 'digits',
      task: 'digits',
      artifact: artifact.id,
      objective: 'marginalised',
      settings: { epochs: 30, batch: 128, hidden: [64, 64] },
      seed: 7,
      job: id,
      metrics: { reports: 1_500 },
      lineage: { reports: 1_500, objective: 'marginalised', seed: 7 },
    });
    const { cleanInput, privateInput, ceilingPrivateInput, noPrivacy, auxiliaryOnly } =
      fitted.metrics.evaluation!;
    expect(cleanInput.rows).toBe(500);
    expect(auxiliaryOnly).toBeLessThan(0.16);
    expect(cleanInput.value).toBeGreaterThan(0.6);
    expect(noPrivacy).toBeGreaterThan(cleanInput.value - 0.05);
    expect(ceilingPrivateInput).toBeCloseTo(ceiling(12, 10), 12);
    expect(privateInput!.value).toBeGreaterThan(0.25);
    expect(privateInput!.value).toBeLessThan(ceilingPrivateInput!);
    expect(existsSync(path.join(home, 'jobs', id))).toBe(false);
  });

  it('is stored as the file that its id is the hash of, and answers as that file does', async () => {
    const file = (await store.classifiers.readFile(fitted.id))!;
    expect(createHash('sha256').update(file).digest('hex')).toBe(fitted.id);
    const classifier = Classifier.deserialise(file);
    const data = loadDataset(held, { roots: [] });
    const records = [0, 1, 2].map((i) => Array.from(data.raw(i)));
    const { predictions } = await call<{ predictions: Prediction[] }>(
      'POST',
      `/v1/classifiers/${fitted.id}/predict`,
      { records },
    );
    predictions.forEach(({ probabilities }, i) =>
      expect(probabilities).toEqual(Array.from(classifier.clean(artifact.encode(data.vector(i))))),
    );
  });

  it('ends with the same classifier when its trainer is killed', async () => {
    const { id } = await call<JobDocument>('POST', '/v1/classifiers/jobs', request);
    const checkpoint = path.join(home, 'jobs', id, 'fit.checkpoint');
    while (!existsSync(checkpoint)) await sleep(5);
    process.kill(log.find((line) => line.job === id && line.pid !== undefined)!.pid!, 'SIGKILL');
    const job = await end(`/v1/classifiers/jobs/${id}`);
    expect(job).toMatchObject({ status: 'succeeded', attempt: 2, result: { classifier: fitted.id } });
    expect(await (await fetch(`${app.url}/metrics`)).text()).toContain(
      'undertone_job_events_total{kind="fit-classifier",event="retried"} 1',
    );
  });
});
