import { createRandomiser } from '@undertone/ldp';
import { DeterministicRandom } from '@undertone/ldp/testing';
import fc from 'fast-check';
import { measureAccuracy } from './accuracy';
import { assertBelowCeiling, ceiling, chanceMargin, checkCeiling, PrivacyAlarm } from './privacy-alarm';

/** Worked out independently with 50 digits. */
const ORACLE: readonly (readonly [classes: number, epsilon: number, value: number])[] = [
  [2, 0.5, 0.6224593312018546],
  [2, 1, 0.7310585786300049],
  [2, 2, 0.8807970779778824],
  [2, 3, 0.9525741268224333],
  [2, 4, 0.9820137900379085],
  [2, 6, 0.9975273768433652],
  [2, 8, 0.9996646498695335],
  [2, 10, 0.9999546021312976],
  [3, 0.5, 0.45186276187760605],
  [3, 1, 0.5761168847658291],
  [3, 2, 0.7869860421615985],
  [3, 3, 0.9094429985127419],
  [3, 4, 0.9646631559719039],
  [3, 6, 0.9950669512572845],
  [3, 8, 0.9993295245830855],
  [3, 10, 0.9999092083843409],
  [10, 0.5, 0.15482809896025465],
  [10, 1, 0.23196931668407395],
  [10, 2, 0.4508530603792838],
  [10, 3, 0.6905678577030157],
  [10, 4, 0.858486449758214],
  [10, 6, 0.9781780512369621],
  [10, 8, 0.9969899242601383],
  [10, 10, 0.9995915675173919],
  [100, 0.5, 0.016380946025790075],
  [100, 1, 0.026723630989395224],
  [100, 2, 0.06945315965638048],
  [100, 3, 0.16866478870682006],
  [100, 4, 0.35546098713664687],
  [100, 6, 0.8029571527702831],
  [100, 8, 0.9678567044042413],
  [100, 10, 0.9955255179295146],
];

describe('ceiling', () => {
  it.each(ORACLE)('K = %d, ε = %d', (classes, epsilon, value) => {
    expect(Math.abs(ceiling(epsilon, classes) / value - 1)).toBeLessThan(1e-12);
  });

  it('is chance at ε = 0 and certainty at a huge ε', () => {
    expect(ceiling(0, 10)).toBeCloseTo(0.1, 15);
    expect(ceiling(800, 10)).toBe(1);
  });
});

describe('chance margin', () => {
  it('is the Hoeffding bound for equal classes', () => {
    expect(chanceMargin([1000, 1000])).toBeCloseTo(Math.sqrt(Math.log(1e6) / (2 * 2000)), 12);
  });

  it('grows when rows are spread unevenly and ignores empty classes', () => {
    expect(chanceMargin([1990, 10])).toBeGreaterThan(chanceMargin([1000, 1000]));
    expect(chanceMargin([1000, 0, 1000])).toBe(chanceMargin([1000, 1000]));
  });
});

describe('privacy alarm', () => {
  const rowsOf = (perClass: number, classes: number): number[] =>
    Array.from({ length: perClass * classes }, (_, i) => i % classes);

  it('stays quiet for the best honest attack there is: reading a k-RR report at its word', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 6 }),
        fc.double({ min: 0.1, max: 4, noNaN: true }),
        fc.nat(1e6),
        (classes, epsilon, seed) => {
          const { factors } = createRandomiser({
            kind: 'factorised',
            representation: { kind: 'laplace-l1', dimension: 1, radius: 1, epsilon: 1 },
            label: { kind: 'k-rr', classes, epsilon },
          });
          const random = new DeterministicRandom(seed);
          const truth = rowsOf(200, classes);
          const predicted = truth.map((y) => factors!.label.randomise(y, random)[0]);
          const check = assertBelowCeiling(measureAccuracy({ predicted, truth, classes }), epsilon);
          expect(check.verdict).not.toBe('broken');
        },
      ),
      { numRuns: 40 },
    );
  });

  it('sounds when the same attack meets a mechanism with twice the ε that it claims', () => {
    const classes = 10;
    const truth = rowsOf(300, classes);
    const { factors } = createRandomiser({
      kind: 'factorised',
      representation: { kind: 'laplace-l1', dimension: 1, radius: 1, epsilon: 1 },
      label: { kind: 'k-rr', classes, epsilon: 2 },
    });
    const random = new DeterministicRandom(5);
    const predicted = truth.map((y) => factors!.label.randomise(y, random)[0]);
    const accuracy = measureAccuracy({ predicted, truth, classes });
    expect(() => assertBelowCeiling(accuracy, 1)).toThrow(PrivacyAlarm);
    expect(() => assertBelowCeiling(accuracy, 1)).toThrow(
      /above 23.20 %, the most that one ε = 1 report allows/,
    );
    expect(assertBelowCeiling(accuracy, 2).verdict).not.toBe('broken');
  });

  it('counts classes present: two of ten classes allow more than ten do', () => {
    const check = checkCeiling({ balanced: 0.7, classRows: [500, 0, 500] }, 1);
    expect(check).toMatchObject({ classes: 2, verdict: 'below-ceiling' });
    expect(check.ceiling).toBeCloseTo(0.7310585786300049, 12);
  });

  it('tells a little above the ceiling from far above it', () => {
    const classRows = [1000, 1000];
    const top = ceiling(1, 2);
    expect(checkCeiling({ balanced: top + 0.9 * chanceMargin(classRows), classRows }, 1).verdict).toBe(
      'above-ceiling-by-chance',
    );
    expect(checkCeiling({ balanced: top + 1.1 * chanceMargin(classRows), classRows }, 1).verdict).toBe(
      'broken',
    );
  });
});
