import { SeededRandom } from '@undertone/engine';
import { fillStandardLaplace, trainingEpsilonAt } from './noise-schedule';
import { vrlmSettings } from './vrlm-settings';

describe('noise over training', () => {
  it('falls geometrically from the first ε to the last over 60 % of the steps, then stays', () => {
    const settings = vrlmSettings({ annealFrom: 60, trainingEpsilon: 15, annealFraction: 0.6 });
    const at = (step: number): number => trainingEpsilonAt(settings, step, 100, 1);
    expect(at(0)).toBeCloseTo(60, 10);
    expect(at(30)).toBeCloseTo(30, 10);
    for (const step of [60, 61, 99]) expect(at(step)).toBeCloseTo(15, 10);
    const still = vrlmSettings({ trainingEpsilon: 15, annealFraction: 0 });
    expect(trainingEpsilonAt(still, 0, 100, 1)).toBeCloseTo(15, 10);
  });

  it('of a conditioned model ends log-uniform over the range, a function of seed and step', () => {
    const settings = vrlmSettings({
      mode: 'conditioned',
      epsilonRange: { low: 1, high: 16 },
      annealFraction: 0.5,
    });
    const drawn = Array.from({ length: 2000 }, (_, i) => trainingEpsilonAt(settings, 2000 + i, 4000, 7));
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(1);
    expect(Math.max(...drawn)).toBeLessThanOrEqual(16);
    const below = drawn.filter((e) => e < 4).length / drawn.length;
    expect(below).toBeGreaterThan(0.45);
    expect(below).toBeLessThan(0.55);
    expect(trainingEpsilonAt(settings, 3000, 4000, 7)).toBe(drawn[1000]);
    expect(trainingEpsilonAt(settings, 3000, 4000, 8)).not.toBe(drawn[1000]);
  });
});

describe('standard Laplace variates', () => {
  it('have the right distribution function', () => {
    const noise = fillStandardLaplace(new Float32Array(40_000), new SeededRandom(3, 'noise', 0)).sort();
    const cdf = (x: number): number => (x < 0 ? Math.exp(x) / 2 : 1 - Math.exp(-x) / 2);
    const distance = noise.reduce(
      (worst, x, i) => Math.max(worst, Math.abs(cdf(x) - (i + 0.5) / noise.length)),
      0,
    );
    // Kolmogorov: P(D √n > 2) < 7e-4.
    expect(distance * Math.sqrt(noise.length)).toBeLessThan(2);
  });
});
