import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Artifact, vectorise } from '@undertone/artifact';
import { Classifier, DEFAULT_FIT_SETTINGS } from '@undertone/classification';
import type { Randomiser, RepresentationRandomiser } from '@undertone/ldp';
import { evaluateClassifier } from './evaluate-classifier';

const ROWS = 400;

/** Says which of two pixels is lit, truthfully with the probability given, whatever its claim says. */
function inputRandomiser(truthful: number, claimed: number): RepresentationRandomiser {
  const logLikelihood = ([said]: Uint8Array, z: ArrayLike<number>): number =>
    Math.log(said === (z[0] > z[1] ? 0 : 1) ? Math.max(truthful, 1e-9) : Math.max(1 - truthful, 1e-9));
  const randomiser: Omit<RepresentationRandomiser, 'claim' | 'spec'> = {
    dimension: 2,
    payloadBytes: 1,
    randomise: (z, random) => {
      const byte = new Uint8Array(1);
      random.fill(byte);
      const lit = z[0] > z[1] ? 0 : 1;
      return Uint8Array.of(byte[0] < 256 * truthful ? lit : 1 - lit);
    },
    fault: () => undefined,
    logLikelihood,
    logLikelihoods: (payload, points, out) => {
      for (let m = 0; m < out.length; m++) {
        out[m] = logLikelihood(payload, [points[2 * m], points[2 * m + 1]]);
      }
    },
  };
  return { ...randomiser, claim: { epsilon: claimed } } as RepresentationRandomiser;
}

describe('evaluateClassifier', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'undertone-evaluation-'));
    const classes = Uint8Array.from({ length: ROWS }, (_, i) => i % 2);
    const images = Array.from(classes, (c) => (c === 0 ? [255, 0] : [0, 255])).flat();
    writeFileSync(path.join(folder, 'images'), Buffer.from([...header(3, ROWS, 1, 2), ...images]));
    writeFileSync(path.join(folder, 'labels'), Buffer.from([...header(1, ROWS), ...classes]));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const evaluate = (
    input: RepresentationRandomiser,
    { labels = ['0', '1'], width = 2, maximum = 255 } = {},
  ) => {
    const randomiser = { dimension: 2, classes: 2, input } as Randomiser;
    const artifact = {
      randomiser,
      body: { labels },
      vectorise: (record: ArrayLike<number>) =>
        vectorise({ kind: 'image', height: 1, width, channels: 1, maximum }, record),
      encode: (x: ArrayLike<number>) => Float64Array.from(x),
    } as unknown as Artifact;
    const classifier = new Classifier({
      labels,
      randomiser,
      prior: { dimension: 2, points: Float32Array.of(1, 0, 0, 1), weights: Float64Array.of(0.5, 0.5) },
      layers: [{ inputs: 2, outputs: 2, activation: 'linear' }],
      weights: [Float32Array.of(9, 0, 0, 9), new Float32Array(2)],
      lineage: {},
    });
    return evaluateClassifier(
      {
        classifier,
        artifact,
        dataset: { source: 'idx', images: 'images', labels: 'labels' },
        settings: DEFAULT_FIT_SETTINGS,
        seed: 0,
        dataRoots: [folder],
      },
      { folder, attempt: 1, signal: new AbortController().signal, progress: () => undefined },
    );
  };

  it('measures clean and privatised inputs against ceiling and floor', async () => {
    const epsilon = Math.log(3);
    const metrics = await evaluate(inputRandomiser(0.75, epsilon));
    expect(metrics.cleanInput).toMatchObject({ value: 1, balanced: 1, rows: ROWS });
    expect(metrics.auxiliaryOnly).toBe(0.5);
    expect(metrics.ceilingPrivateInput).toBeCloseTo(0.75, 12);
    // Binomial(400, 0.75): six standard deviations are 0.13.
    expect(Math.abs(metrics.privateInput!.value - 0.75)).toBeLessThan(0.13);
    expect(metrics).not.toHaveProperty('noPrivacy');
  });

  it('sounds the alarm when a mechanism adds less noise than it claims', async () => {
    await expect(evaluate(inputRandomiser(1, 0.1))).rejects.toMatchObject({
      code: 'privacy-alarm',
      message: expect.stringMatching(/100\.00 % .* above 52\.50 %, the most that one ε = 0\.1 report allows/),
    });
  });

  it('refuses labels that the mechanism does not know', async () => {
    await expect(evaluate(inputRandomiser(0.75, 2), { labels: ['0', 'one'] })).rejects.toThrow(
      'has the label "1", which isn\'t one of the mechanism\'s: 0, one',
    );
  });

  it('names the row that does not fit the mechanism, and none of its values', async () => {
    await expect(evaluate(inputRandomiser(0.75, 2), { width: 3 })).rejects.toMatchObject({
      code: 'unfit-record',
      message: expect.stringMatching(/^images: row 0 .* \(the image has 2 numbers: it must have 3 /),
    });
    await expect(evaluate(inputRandomiser(0.75, 2), { maximum: 100 })).rejects.toMatchObject({
      code: 'unfit-record',
      message: "images: row 0 doesn't fit the mechanism's input schema (out-of-range)",
    });
  });
});

/** Of an IDX file of bytes. */
const header = (dimensions: number, ...sizes: number[]): number[] => [
  0,
  0,
  8,
  dimensions,
  ...sizes.flatMap((n) => [n >>> 24, (n >>> 16) & 255, (n >>> 8) & 255, n & 255]),
];
