import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { type InputSchema } from '@undertone/artifact';
import { initialiseBackend, SeededRandom } from '@undertone/engine';
import { fitVrlm, type VrlmRequest } from './fit-vrlm';
import { Decoder } from './decoder';
import { encodeRecords } from './trained-vrlm';
import { type RepresentationError } from './vrlm-settings';

beforeAll(() => initialiseBackend());

const schema: InputSchema = { kind: 'image', height: 3, width: 3, channels: 1, maximum: 255 };
const SHAPES = [
  [1, 1, 1, 0, 0, 0, 0, 0, 0],
  [0, 0, 0, 0, 0, 0, 1, 1, 1],
  [1, 0, 0, 1, 0, 0, 1, 0, 0],
  [0, 0, 1, 0, 0, 1, 0, 0, 1],
];

/** Noisy pictures of four shapes: row i shows shape i mod 4. */
function pictures(rows: number): Float32Array {
  const random = new SeededRandom(1, 'pictures');
  return Float32Array.from({ length: rows * 9 }, (_, at) => {
    const pixel = SHAPES[Math.floor(at / 9) % 4][at % 9];
    return Math.abs(pixel - 0.2 * random.uniform());
  });
}

const settings = {
  latent: 3,
  hidden: [24, 16],
  epochs: 30,
  batch: 32,
  peakLearningRate: 1e-2,
  trainingEpsilon: 12,
};
const request: VrlmRequest = { schema, data: pictures(256), settings, seed: 4 };
const short = { ...request, settings: { ...settings, epochs: 2 } };

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no error',
    (e: RepresentationError) => e.code,
  );

describe('fitting a V-RLM', () => {
  it('learns codes that tell shapes apart under the noise, without labels', async () => {
    const before = tf.memory().numTensors;
    const losses: number[] = [];
    const trained = await fitVrlm({ ...request, onProgress: ({ loss }) => losses.push(loss) });
    expect(tf.memory().numTensors).toBe(before);
    expect(losses[losses.length - 1]).toBeLessThan(losses[0] - 1);
    expect(trained.elbo.total).toBeCloseTo(trained.elbo.reconstruction - trained.elbo.divergence, 4);
    expect(trained.elbo.total).toBeGreaterThan(-losses[0]);
    expect(trained.priorScale).toBeGreaterThan(0);

    const codes = encodeRecords(trained.encoder(), request.data);
    const centre = (shape: number): number[] => {
      const rows = [...Array(256).keys()].filter((i) => i % 4 === shape);
      return [0, 1, 2].map((c) => rows.reduce((s, i) => s + codes[3 * i + c], 0) / rows.length);
    };
    const distance = (a: number[], b: number[]): number => a.reduce((s, v, c) => s + Math.abs(v - b[c]), 0);
    for (let a = 0; a < 4; a++) {
      for (let b = 0; b < a; b++) expect(distance(centre(a), centre(b))).toBeGreaterThan(0.5);
    }
    const decoder = Decoder.deserialise(trained.decoder().serialise());
    SHAPES.forEach((pixels, shape) => {
      const seen = decoder.decode(centre(shape));
      pixels.forEach((pixel, i) => expect(Math.abs(seen[i] - pixel)).toBeLessThan(0.4));
    });
  });

  it('gives the same weights for the same seed, others for another', async () => {
    const [a, b, c] = [await fitVrlm(short), await fitVrlm(short), await fitVrlm({ ...short, seed: 5 })];
    expect(b.encoder().weights).toEqual(a.encoder().weights);
    expect(c.encoder().weights).not.toEqual(a.encoder().weights);
  });

  it('goes on from a checkpoint as if never stopped', async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'vrlm-'));
    try {
      const whole = await fitVrlm(short);
      const checkpoint = { path: path.join(folder, 'state'), everySteps: 3 };
      const abort = new AbortController();
      const stopped = fitVrlm({
        ...short,
        checkpoint,
        signal: abort.signal,
        onProgress: ({ step }) => step === 7 && abort.abort(),
      });
      expect(await codeOf(stopped)).toBe('cancelled');
      await expect(fitVrlm({ ...short, seed: 99, checkpoint })).rejects.toThrow(
        /belongs to another training/,
      );
      const otherData = { ...short, data: short.data.map((v) => v / 2), checkpoint };
      await expect(fitVrlm(otherData)).rejects.toThrow(/belongs to another training/);
      const resumed = await fitVrlm({ ...short, checkpoint });
      expect(resumed.encoder().weights).toEqual(whole.encoder().weights);
      expect(resumed.elbo).toEqual(whole.elbo);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('trains one encoder for a range of ε', async () => {
    const conditioned = await fitVrlm({ ...short, settings: { ...short.settings, mode: 'conditioned' } });
    const [low, high] = [conditioned.encoder({ epsilon: 1 }), conditioned.encoder({ epsilon: 20 })];
    expect(low.layers[0].inputs).toBe(9);
    expect(low.weights[1]).not.toEqual(high.weights[1]);
    expect(low.weights[0]).toEqual(high.weights[0]);
    expect(conditioned.decoder({ epsilon: 1 }).decode([0, 0, 0])).toHaveLength(9);
    expect(() => conditioned.encoder()).toThrow(/ε is undefined: .* from 0.7 to 30/);
    expect(() => conditioned.encoder({ epsilon: 50 })).toThrow(/ε is 50/);
  });

  it('trains on tables, with numbers and categories', async () => {
    const table: InputSchema = {
      kind: 'table',
      columns: [
        { name: 'a', kind: 'numeric', mean: 0, deviation: 1 },
        { name: 'b', kind: 'categorical', levels: ['x', 'y'] },
      ],
    };
    const random = new SeededRandom(2);
    const data = new Float32Array(300);
    for (let i = 0; i < 100; i++) {
      const side = i % 2;
      data.set(
        [side ? 1 : -1, side ? 1 : 0, side ? 0 : 1].map((v, c) => (c ? v : v + 0.1 * random.normal())),
        3 * i,
      );
    }
    const losses: number[] = [];
    await fitVrlm({
      schema: table,
      data,
      seed: 1,
      settings: { ...settings, latent: 1, epochs: 60 },
      onProgress: ({ loss }) => losses.push(loss),
    });
    expect(losses[losses.length - 1]).toBeLessThan(losses[0] - 0.5);
  });

  it('refuses data and settings that can not be trained on', async () => {
    const bad = short.data.slice();
    bad[13] = NaN;
    await expect(fitVrlm({ ...short, data: bad })).rejects.toThrow(/record 1 holds NaN at position 4/);
    await expect(fitVrlm({ ...short, data: short.data.subarray(0, 10) })).rejects.toThrow(
      /10 numbers are not records of 9/,
    );
    for (const wrong of [
      { latent: 0 },
      { batch: 1.5 },
      { peakLearningRate: 0 },
      { trainingEpsilon: NaN },
      { hidden: [0] },
      { annealFraction: 2 },
    ]) {
      expect(await codeOf(fitVrlm({ ...short, settings: { ...settings, ...wrong } }))).toBe(
        'invalid-setting',
      );
    }
  });
});
