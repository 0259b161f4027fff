import fc from 'fast-check';

import { glorotUniform, heNormal } from './initialisers';
import { SeededRandom } from './seeded-random';

const mean = (values: ArrayLike<number>): number =>
  Array.from(values).reduce((s, v) => s + v, 0) / values.length;
const variance = (values: ArrayLike<number>): number => {
  const centre = mean(values);
  return mean(Array.from(values, (v) => (v - centre) ** 2));
};

describe('SeededRandom', () => {
  it('is xoshiro128**: the first outputs from the state 1, 2, 3, 4', () => {
    const random = SeededRandom.fromState([1, 2, 3, 4]);
    expect(Array.from({ length: 10 }, () => random.uint32())).toEqual([
      11520, 0, 5927040, 70819200, 2031721883, 1637235492, 1287239034, 3734860849, 3729100597, 4258142804,
    ]);
  });

  it('repeats itself for the same seed and stream, and differs for any other', () => {
    const draw = (...key: [number, ...(number | string)[]]) => new SeededRandom(...key).uint32();
    expect(draw(1, 'noise', 5)).toBe(draw(1, 'noise', 5));
    const others = [
      draw(1, 'noise', 5),
      draw(2, 'noise', 5),
      draw(1, 'data', 5),
      draw(1, 'noise', 6),
      draw(1),
    ];
    expect(new Set(others).size).toBe(others.length);
    expect(draw(1, '2')).not.toBe(draw(1, 2));
  });

  it('refuses a seed that is no finite number', () => {
    expect(() => new SeededRandom(NaN)).toThrow('finite number, got NaN');
  });

  it('draws uniform numbers with the right mean and variance', () => {
    const random = new SeededRandom(4);
    const draws = Array.from({ length: 20_000 }, () => random.uniform());
    expect(mean(draws)).toBeCloseTo(1 / 2, 2);
    expect(variance(draws)).toBeCloseTo(1 / 12, 2);
    expect(draws.every((u) => u >= 0 && u < 1)).toBe(true);
  });

  it('fills (−½, ½) without ever touching −½, 0 or ½, whatever the generator gives', () => {
    fc.assert(
      fc.property(fc.tuple(fc.nat(), fc.nat(), fc.nat(), fc.integer()), (state) => {
        const [u] = SeededRandom.fromState(state).fillUniform(new Float32Array(1), -0.5, 0.5);
        return u !== 0 && Math.abs(u) < 0.5 && Number.isFinite(Math.log(1 - 2 * Math.abs(u)));
      }),
    );
    const [smallest] = SeededRandom.fromState([1, 0, 0, 0]).fillUniform(new Float32Array(1), -0.5, 0.5);
    expect(smallest).toBe(-0.5 + 2 ** -24);
  });

  it('draws normal numbers with the right moments', () => {
    const draws = new SeededRandom(5).fillNormal(new Float32Array(40_000), 2);
    expect(mean(draws)).toBeCloseTo(0, 1);
    expect(variance(draws) / 4).toBeCloseTo(1, 1);
    expect(mean(draws.map((v) => (v / 2) ** 4))).toBeCloseTo(3, 0);
  });

  it('permutes: every index once, and every place equally often', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 200 }), fc.nat(), (n, seed) => {
        const order = new SeededRandom(seed).permutation(n);
        expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: n }, (_, i) => i));
      }),
    );
    const firsts = [0, 0, 0, 0];
    for (let seed = 0; seed < 4000; seed++) firsts[new SeededRandom(seed).permutation(4)[0]]++;
    for (const count of firsts) expect(Math.abs(count - 1000)).toBeLessThan(5 * Math.sqrt(750));
  });

  it('refuses a range that has no integers', () => {
    expect(() => new SeededRandom(1).below(0)).toThrow('got 0');
  });
});

describe('initialisers', () => {
  it('have the variance that their sources give', () => {
    const random = new SeededRandom(6);
    expect(variance(heNormal(random, [200, 300])) / (2 / 200)).toBeCloseTo(1, 1);
    expect(variance(glorotUniform(random, [200, 300])) / (2 / 500)).toBeCloseTo(1, 1);
  });
});
