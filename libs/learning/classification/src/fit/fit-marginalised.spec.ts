import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { initialiseBackend } from '@undertone/engine';
import { type Randomiser } from '@undertone/ldp';
import { SmallJoint } from '@undertone/ldp/testing';
import { LABELS, toyPrior, toyRandomiser, toyReports, VERTICES } from '../../testing/toy-task';
import { type ClassificationError } from '../classification-error';
import { fitMarginalised, type MarginalisedRequest } from './fit-marginalised';

beforeAll(() => initialiseBackend());

const ROWS = 1000;
/** One batch holds all reports: the last loss is then the objective itself. */
const settings = { hidden: [16], epochs: 150, batch: ROWS, peakLearningRate: 3e-2 };

/** π_m p(payload | z′_m, y) [M][K], in plain loops. */
const likelihoodOf = (randomiser: Randomiser, payload: Uint8Array): number[][] =>
  VERTICES.map((z, m) =>
    LABELS.map((_, y) => toyPrior.weights[m] * Math.exp(randomiser.logLikelihood(payload, z, y))),
  );

const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0);

/** What the tables divide a row by: of a product the likelihood of its representation, else of the whole. */
function rowScale(randomiser: Randomiser, payload: Uint8Array): number {
  const rows = likelihoodOf(randomiser, payload);
  if (!randomiser.factors) return sum(rows.flat());
  const { label } = randomiser.factors.split(payload);
  return sum(rows.map((row) => row[0])) / Math.exp(randomiser.factors.label.logLikelihood(label, 0));
}

/** The table p(y | m) of greatest likelihood, by expectation maximisation over all (m, y). */
function byExpectationMaximisation(
  randomiser: Randomiser,
  payloads: Uint8Array[],
): { table: number[][]; loss: number } {
  const likelihood = payloads.map((payload) => likelihoodOf(randomiser, payload));
  const scale = payloads.map((payload) => rowScale(randomiser, payload));
  let table = LABELS.map(() => LABELS.map(() => 1 / LABELS.length));
  let loss = 0;
  for (let round = 0; round < 150; round++) {
    const counts = table.map((row) => row.map(() => 1e-12));
    loss = 0;
    likelihood.forEach((rows, n) => {
      const joint = rows.map((row, m) => row.map((l, y) => l * table[m][y]));
      const total = sum(joint.flat());
      loss -= Math.log(total / scale[n]) / payloads.length;
      joint.forEach((row, m) => row.forEach((v, y) => (counts[m][y] += v / total)));
    });
    table = counts.map((row) => row.map((c) => c / sum(row)));
  }
  return { table, loss };
}

const requestOf = (randomiser: Randomiser): MarginalisedRequest & { payloads: Uint8Array[] } => ({
  randomiser,
  payloads: toyReports(randomiser, ROWS, 11),
  prior: toyPrior,
  labels: LABELS,
  settings,
  seed: 3,
});

describe('noise-marginalised fit', () => {
  it.each<[string, Randomiser]>([
    ['a product of two reports', toyRandomiser(4, 2)],
    ['one joint report', new SmallJoint({ dimension: 2, classes: 4, epsilon: 3 })],
  ])('finds what expectation maximisation finds, from %s', async (_, randomiser) => {
    const request = requestOf(randomiser);
    const tensors = tf.memory().numTensors;
    const { classifier, loss } = await fitMarginalised(request);
    expect(tf.memory().numTensors).toBe(tensors);
    const best = byExpectationMaximisation(randomiser, request.payloads);
    expect(loss).toBeGreaterThan(best.loss - 1e-3);
    expect(loss).toBeLessThan(best.loss + 5e-3);
    VERTICES.forEach((z, m) => {
      const p = classifier.clean(z);
      p.forEach((v, y) => expect(Math.abs(v - best.table[m][y])).toBeLessThan(0.15));
      expect(p[m]).toBeGreaterThan(0.8);
    });
  });

  it('is a function of its seed, and keeps the lineage it is given', async () => {
    const request = {
      ...requestOf(toyRandomiser(4, 2)),
      settings: { ...settings, epochs: 4 },
      lineage: { task: 'toy' },
    };
    const [a, b, c] = [
      await fitMarginalised(request),
      await fitMarginalised(request),
      await fitMarginalised({ ...request, seed: 4 }),
    ];
    expect(Buffer.from(b.classifier.serialise())).toEqual(Buffer.from(a.classifier.serialise()));
    expect(Buffer.from(c.classifier.serialise())).not.toEqual(Buffer.from(a.classifier.serialise()));
    expect(a.classifier.lineage).toEqual({ task: 'toy' });
  });

  it('is cancelled and resumed as if never stopped', async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'classifier-'));
    try {
      const request = {
        ...requestOf(toyRandomiser(4, 2)),
        settings: { ...settings, epochs: 20, batch: 250 },
      };
      const whole = await fitMarginalised(request);
      const checkpoint = { path: path.join(folder, 'state'), everySteps: 5 };
      const abort = new AbortController();
      const stopped = fitMarginalised({
        ...request,
        checkpoint,
        signal: abort.signal,
        onProgress: ({ step }) => step === 33 && abort.abort(),
      });
      await expect(stopped).rejects.toMatchObject({ code: 'cancelled' });
      const others = fitMarginalised({
        ...request,
        payloads: toyReports(request.randomiser, ROWS, 12),
        checkpoint,
      });
      await expect(others).rejects.toThrow(/belongs to another training/);
      const resumed = await fitMarginalised({ ...request, checkpoint });
      expect(Buffer.from(resumed.classifier.serialise())).toEqual(Buffer.from(whole.classifier.serialise()));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('refuses settings and labels that do not fit', async () => {
    const request = requestOf(toyRandomiser(4, 2));
    for (const wrong of [
      { epochs: 0 },
      { batch: NaN },
      { hidden: [1.5] },
      { peakLearningRate: -1 },
      { warmUpFraction: 2 },
    ]) {
      const error = await fitMarginalised({ ...request, settings: wrong }).catch(
        (e: ClassificationError) => e,
      );
      expect(error).toMatchObject({
        code: 'invalid-input',
        message: expect.stringContaining(Object.keys(wrong)[0]),
      });
    }
    await expect(fitMarginalised({ ...request, labels: ['a'], settings: { epochs: 1 } })).rejects.toThrow(
      /1 labels, 4 classes/,
    );
  });
});
