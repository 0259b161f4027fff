import * as tf from '@tensorflow/tfjs-core';
import { initialiseBackend, SeededRandom } from '@undertone/engine';
import { scaleIntoL1Ball } from '@undertone/ldp';
import { laplaceDivergence, ontoL1Ball } from './mechanism-posterior';

beforeAll(() => initialiseBackend());

describe('map onto the L1 ball', () => {
  const random = new SeededRandom(1);
  const rows = Array.from({ length: 40 }, (_, i) =>
    Array.from({ length: 5 }, () => (i % 2 ? 2 : 0.1) * random.normal()),
  );

  it('is the one that devices run', () => {
    const onBall = tf.tidy(() => ontoL1Ball(tf.tensor2d([...rows, [0, 0, 0, 0, 0]]), 1).arraySync());
    rows.forEach((row, i) => {
      const expected = scaleIntoL1Ball(row, 1);
      onBall[i].forEach((v, c) => expect(Math.abs(v - expected[c])).toBeLessThan(1e-6));
    });
    expect(onBall[rows.length]).toEqual([0, 0, 0, 0, 0]);
  });

  it('has the Jacobian (l/n)(I − h sgn(h)ᵀ/n) outside, n = ‖h‖₁, and the identity inside', () => {
    const direction = [0.3, -1, 0.5, 2, -0.7];
    for (const row of rows) {
      const gradient = tf.tidy(() =>
        tf
          .grad((h) => tf.sum(tf.mul(ontoL1Ball(h as tf.Tensor2D, 1), direction)))(tf.tensor2d([row]))
          .dataSync(),
      );
      const norm = row.reduce((s, v) => s + Math.abs(v), 0);
      const along = row.reduce((s, v, i) => s + v * direction[i], 0) / norm;
      row.forEach((v, i) => {
        const expected = norm <= 1 ? direction[i] : (direction[i] - Math.sign(v) * along) / norm;
        expect(gradient[i]).toBeCloseTo(expected, 5);
      });
    }
  });
});

describe('divergence from the prior', () => {
  /** KL by the trapezoid rule over a range that holds all but e^-40 of the mass. */
  const integrated = (mean: number, b: number, s: number): number => {
    const density = (x: number, centre: number, scale: number): number =>
      Math.exp(-Math.abs(x - centre) / scale) / (2 * scale);
    const logRatio = (x: number): number => -Math.abs(x - mean) / b + Math.abs(x) / s + Math.log(s / b);
    let sum = 0;
    const [pieces, reach] = [40_000, 40 * b];
    const width = (2 * reach) / pieces;
    for (let i = 0; i <= pieces; i++) {
      const x = mean - reach + i * width;
      sum += (i === 0 || i === pieces ? 0.5 : 1) * density(x, mean, b) * logRatio(x) * width;
    }
    return sum;
  };

  it.each([
    [0, 0.2, 0.2],
    [0.7, 0.25, 0.5],
    [-1, 0.0667, 0.3],
    [0.1, 4, 0.2],
  ])('of Laplace(%d, %d) from Laplace(0, %d) is the integral', (mean, b, s) => {
    const closed = tf.tidy(
      () => laplaceDivergence(tf.tensor2d([[mean]]), tf.tensor1d([b]), tf.tensor1d([s])).dataSync()[0],
    );
    expect(closed).toBeCloseTo(integrated(mean, b, s), 4);
  });

  it('is summed over coordinates and is 0 from itself', () => {
    const of = (rows: number[][]): number =>
      tf.tidy(
        () => laplaceDivergence(tf.tensor2d(rows), tf.tensor1d([0.3]), tf.tensor1d([0.3])).dataSync()[0],
      );
    expect(of([[0, 0], [0, 0]])).toBeCloseTo(0, 6); // prettier-ignore
    expect(of([[0.5, 0], [0, -0.5]])).toBeCloseTo(2 * of([[0.5, 0]]), 5); // prettier-ignore
  });
});
