import { SeededRandom } from '@undertone/engine';
import fc from 'fast-check';
import { kMeans } from './k-means';

const cost = (rows: Float32Array, d: number, centres: Float64Array): number => {
  let sum = 0;
  for (let i = 0; i < rows.length; i += d) {
    let best = Infinity;
    for (let m = 0; m < centres.length; m += d) {
      let distance = 0;
      for (let c = 0; c < d; c++) distance += (rows[i + c] - centres[m + c]) ** 2;
      best = Math.min(best, distance);
    }
    sum += best;
  }
  return sum;
};

/** The least cost of two clusters, by trying every split: the slow, obvious twin. */
function bestPairCost(rows: Float32Array, d: number): number {
  const n = rows.length / d;
  let best = Infinity;
  for (let mask = 0; mask < 1 << n; mask++) {
    let total = 0;
    for (const side of [0, 1]) {
      const members = [...Array(n).keys()].filter((i) => ((mask >> i) & 1) === side);
      for (let c = 0; c < d; c++) {
        const mean = members.reduce((s, i) => s + rows[i * d + c], 0) / Math.max(1, members.length);
        total += members.reduce((s, i) => s + (rows[i * d + c] - mean) ** 2, 0);
      }
    }
    best = Math.min(best, total);
  }
  return best;
}

const blobs = (n: number, d: number, centres: number[][], seed: number): Float32Array => {
  const random = new SeededRandom(seed, 'blobs');
  return Float32Array.from({ length: n * d }, (_, i) => {
    const centre = centres[Math.floor(i / d) % centres.length];
    return centre[i % d] + 0.05 * random.normal();
  });
};

describe('k-means', () => {
  it('finds well-separated groups', () => {
    const rows = blobs(300, 2, [[0, 0], [1, 0], [0, 1]], 3); // prettier-ignore
    const { centres, sizes } = kMeans(rows, 2, 3, new SeededRandom(1));
    expect([...sizes]).toEqual([100, 100, 100]);
    for (const [x, y] of [
      [0, 0],
      [1, 0],
      [0, 1],
    ]) {
      // prettier-ignore
      const near = [0, 1, 2].filter((m) => Math.hypot(centres[2 * m] - x, centres[2 * m + 1] - y) < 0.05);
      expect(near).toHaveLength(1);
    }
  });

  it('comes near the best possible cost', () => {
    const rows = new SeededRandom(5);
    const data = Float32Array.from({ length: 20 }, () => rows.uniform());
    const best = bestPairCost(data, 2);
    const costs = [1, 2, 3, 4, 5].map((s) =>
      cost(data, 2, kMeans(data, 2, 2, new SeededRandom(s), 50).centres),
    );
    expect(Math.min(...costs)).toBeCloseTo(best, 6);
    expect(Math.max(...costs)).toBeLessThan(2.5 * best);
  });

  it('counts every row once, leaves no cluster empty and is a function of its seed', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: -3, max: 3 }), fc.integer({ min: -3, max: 3 })), {
          minLength: 1,
        }),
        fc.integer({ min: 1, max: 12 }),
        fc.nat(1000),
        (pairs, count, seed) => {
          const rows = Float32Array.from(pairs.flat());
          const { centres, sizes } = kMeans(rows, 2, count, new SeededRandom(seed));
          const distinct = new Set(pairs.map(String)).size;
          expect(sizes.length).toBeLessThanOrEqual(Math.min(count, distinct));
          expect(centres.length).toBe(2 * sizes.length);
          expect(sizes.reduce((a, b) => a + b, 0)).toBe(pairs.length);
          expect(Math.min(...sizes)).toBeGreaterThan(0);
          expect(kMeans(rows, 2, count, new SeededRandom(seed)).centres).toEqual(centres);
          if (count >= distinct) expect(cost(rows, 2, centres)).toBeCloseTo(0, 9);
        },
      ),
      { numRuns: 60 },
    );
  });
});
