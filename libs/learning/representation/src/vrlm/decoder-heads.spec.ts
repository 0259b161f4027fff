import * as tf from '@tensorflow/tfjs-core';
import { decoderHeads, type InputSchema } from '@undertone/artifact';
import { initialiseBackend, SeededRandom } from '@undertone/engine';
import { expectedRecord, headParameters, reconstructionLoss } from './decoder-heads';

beforeAll(() => initialiseBackend());

const table: InputSchema = {
  kind: 'table',
  columns: [
    { name: 'age', kind: 'numeric', mean: 40, deviation: 10 },
    { name: 'work', kind: 'categorical', levels: ['a', 'b', 'c'] },
    { name: 'income', kind: 'numeric', mean: 3, deviation: 1 },
    { name: 'debt', kind: 'numeric', mean: 3, deviation: 1 },
  ],
};
const image: InputSchema = { kind: 'image', height: 2, width: 3, channels: 1, maximum: 255 };

const lossOf = (schema: InputSchema, outputs: number[][], targets: number[][], raw?: number): number =>
  tf.tidy(() => {
    const heads = decoderHeads(schema);
    const parameters = Object.fromEntries(
      headParameters(heads).map((p) => [
        p.name,
        raw === undefined ? tf.tensor1d(p.initial) : tf.fill([p.shape[0]], raw),
      ]),
    );
    return reconstructionLoss(heads, tf.tensor2d(outputs), tf.tensor2d(targets), parameters).dataSync()[0];
  });

describe('reconstruction loss', () => {
  const random = new SeededRandom(2);
  const rows = (n: number, of: () => number): number[][] =>
    Array.from({ length: n }, () => Array.from({ length: 6 }, of));

  it('of an image is −Σ ln Bernoulli', () => {
    const logits = rows(4, () => 3 * random.normal());
    const pixels = rows(4, () => random.uniform());
    const expected = logits.flatMap((row, i) =>
      row.map((r, j) => {
        const p = 1 / (1 + Math.exp(-r));
        return -(pixels[i][j] * Math.log(p) + (1 - pixels[i][j]) * Math.log(1 - p));
      }),
    );
    expect(lossOf(image, logits, pixels) / expected.reduce((a, b) => a + b)).toBeCloseTo(1, 5);
  });

  it('of a table is −Σ ln of Gaussians and categories, a missing category adding nothing', () => {
    const outputs = rows(3, () => random.normal());
    const targets = [
      [0.5, 0, 1, 0, -1, 2],
      [-2, 1, 0, 0, 0, 0.1],
      [0, 0, 0, 0, 1, 1],
    ];
    for (const raw of [undefined, 0, 1.5, -30]) {
      const deviation = raw === undefined ? 1 : Math.log1p(Math.exp(raw)) + 0.05;
      let expected = 0;
      targets.forEach((x, i) => {
        for (const c of [0, 4, 5]) {
          expected +=
            0.5 * ((x[c] - outputs[i][c]) / deviation) ** 2 + Math.log(deviation * Math.sqrt(2 * Math.PI));
        }
        const sum = [1, 2, 3].reduce((s, c) => s + Math.exp(outputs[i][c]), 0);
        for (const c of [1, 2, 3]) if (x[c] === 1) expected -= outputs[i][c] - Math.log(sum);
      });
      expect(lossOf(table, outputs, targets, raw) / expected).toBeCloseTo(1, 4);
    }
  });
});

describe('expected record', () => {
  it('holds probabilities for pixels and levels, means for numbers', () => {
    expect(
      [...expectedRecord(decoderHeads(image), Float64Array.of(0, 800, -800, 1, 2, 3))].slice(0, 3),
    ).toEqual([0.5, 1, 0]);
    const row = expectedRecord(decoderHeads(table), Float64Array.of(7, 1000, 1000, 0, -1, 2));
    expect([...row]).toEqual([7, 0.5, 0.5, 0, -1, 2]);
  });
});
