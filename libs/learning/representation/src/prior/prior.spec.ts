import { SeededRandom } from '@undertone/engine';
import { deserialisePrior, serialisePrior, weightedPrototypes } from './prior';

const onSphere = (n: number, d: number): Float32Array => {
  const random = new SeededRandom(11);
  const codes = new Float32Array(n * d);
  for (let i = 0; i < n; i++) {
    const row = Array.from({ length: d }, () => random.normal());
    const norm = row.reduce((s, v) => s + Math.abs(v), 0);
    row.forEach((v, c) => (codes[i * d + c] = v / norm));
  }
  return codes;
};

describe('weighted prototypes', () => {
  const settings = { dimension: 3, count: 40, seed: 2, radius: 1 };

  it('stay in the ball and carry the whole weight', () => {
    const { points, weights } = weightedPrototypes(onSphere(500, 3), settings);
    expect(points.length).toBe(3 * weights.length);
    expect(weights.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 12);
    for (let m = 0; m < weights.length; m++) {
      const norm = points.subarray(3 * m, 3 * m + 3).reduce((s, v) => s + Math.abs(v), 0);
      expect(norm).toBeLessThanOrEqual(1 + 1e-6);
    }
  });

  it('keep the mean of the codes', () => {
    const codes = onSphere(500, 3);
    const { points, weights } = weightedPrototypes(codes, settings);
    for (let c = 0; c < 3; c++) {
      let ofCodes = 0;
      for (let i = c; i < codes.length; i += 3) ofCodes += codes[i] / 500;
      const ofPrior = weights.reduce((s, w, m) => s + w * points[3 * m + c], 0);
      expect(ofPrior).toBeCloseTo(ofCodes, 5);
    }
  });

  it('survive being written and read', () => {
    const prior = weightedPrototypes(onSphere(50, 3), settings);
    expect(deserialisePrior(serialisePrior(prior))).toEqual(prior);
  });

  it('refuse codes that are no rows or no numbers', () => {
    expect(() => weightedPrototypes(new Float32Array(7), settings)).toThrow(
      /7 numbers are not rows of dimension 3/,
    );
    expect(() => weightedPrototypes(new Float32Array(0), settings)).toThrow(/at least one/);
    expect(() => weightedPrototypes(Float32Array.of(0, 0, 0, 0, NaN, 0), settings)).toThrow(
      /code 1 holds NaN/,
    );
    expect(() => weightedPrototypes(onSphere(5, 3), { ...settings, count: 0 })).toThrow(/at least 1, got 0/);
  });
});
