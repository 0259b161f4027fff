import fc from 'fast-check';
import { DeterministicRandom } from '../../testing/deterministic-random';
import { exponentialBounds, Rational } from '../../testing/rational';
import { ScriptedRandom } from '../../testing/scripted-random';
import { KAryRandomisedResponse } from './k-ary-randomised-response';
import oracle from './k-ary-randomised-response.oracle.json';

const krr = (classes: number, epsilon: number) =>
  new KAryRandomisedResponse({ kind: 'k-rr', classes, epsilon });

const TWO_53 = 2n ** 53n;

/** P(kept)/P(another given label), exactly, if the label is kept in `threshold` of 2^53 cases. */
const odds = (threshold: bigint, classes: number) =>
  new Rational(threshold * BigInt(classes - 1), TWO_53 - threshold);

function checkExactly(classes: number, epsilon: number) {
  const threshold = BigInt(krr(classes, epsilon).keepThreshold);
  const { below, above } = exponentialBounds(epsilon);
  const ratio = odds(threshold, classes);
  expect(ratio.isAtMost(below)).toBe(true);
  const inverse = new Rational(ratio.denominator, ratio.numerator);
  expect(inverse.isAtMost(below)).toBe(true);
  // One case more would break the bound: no budget is wasted either.
  if (threshold + 1n < TWO_53) expect(odds(threshold + 1n, classes).isAtMost(above)).toBe(false);
}

describe('KAryRandomisedResponse', () => {
  const corners = [2, 3, 10, 256, 257, 65_536].flatMap((classes) =>
    [1e-6, 0.1, Math.LN2, 1, 2, 8, 36, 38, 60].map((epsilon) => [classes, epsilon]),
  );

  it.each(corners)('keeps the real ratio at most e^ε, exactly, for K = %p and ε = %p', checkExactly);

  it('does so for any K and ε', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 65_536 }),
        fc.double({ min: 1e-6, max: 40, noNaN: true }),
        checkExactly,
      ),
      { numRuns: 100 },
    );
  });

  it('sends every label in exactly the cases that the threshold says', () => {
    const classes = 5;
    const mechanism = krr(classes, 1.3);
    const T = mechanism.keepThreshold;
    const send = (y: number, uniform: number, other: number) =>
      mechanism.randomise(
        y,
        new ScriptedRandom([ScriptedRandom.word(uniform), ScriptedRandom.word(other)]),
      )[0];
    for (let y = 0; y < classes; y++) {
      const labels = Array.from({ length: classes }, (_, v) => v);
      const others = [0, 1, 2, 3];
      // Below the threshold: the label itself, whatever the second word.
      for (const uniform of [0, T - 1]) {
        expect(others.map((other) => send(y, uniform, other))).toEqual(others.map(() => y));
      }
      // From the threshold on: each of the other labels for one value of the second word.
      for (const uniform of [T, 2 ** 53 - 1]) {
        expect(others.map((other) => send(y, uniform, other))).toEqual(labels.filter((v) => v !== y));
      }
    }
  });

  it('draws as many words when the label is kept as when it is not', () => {
    const calls = [0, 2 ** 53 - 1].map((uniform) => {
      const random = new ScriptedRandom([ScriptedRandom.word(uniform), ScriptedRandom.word(1)]);
      krr(10, 2).randomise(3, random);
      return random.calls;
    });
    expect(calls[0]).toBe(calls[1]);
  });

  it.each(oracle.probabilities)(
    'has the probabilities of K = $classes, ε = $epsilon',
    ({ classes, epsilon, p, q }) => {
      const mechanism = krr(classes, epsilon);
      expect(mechanism.keepProbability / p).toBeCloseTo(1, 9);
      expect(mechanism.otherProbability / q).toBeCloseTo(1, 9);
      const sent = mechanism.randomise(1, new ScriptedRandom([new Uint8Array(8)]));
      expect(mechanism.logLikelihood(sent, 1)).toBe(Math.log(mechanism.keepProbability));
      expect(mechanism.logLikelihood(sent, 0)).toBe(Math.log(mechanism.otherProbability));
    },
  );

  it.each(oracle.ceiling)(
    'lets nobody guess better than the ceiling of K = $classes, ε = $epsilon',
    ({ classes, epsilon, accuracy }) => {
      const { keepProbability } = krr(classes, epsilon);
      expect(keepProbability).toBeLessThanOrEqual(accuracy * (1 + 1e-15));
      expect(keepProbability).toBeCloseTo(accuracy, 12);
    },
  );

  it('has likelihoods that add up to one', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 300 }),
        fc.double({ min: 0.001, max: 30, noNaN: true }),
        (classes, epsilon) => {
          const { keepProbability, otherProbability } = krr(classes, epsilon);
          expect(keepProbability + (classes - 1) * otherProbability).toBeCloseTo(1, 12);
        },
      ),
    );
  });

  it('sends labels as often as it says', () => {
    const mechanism = krr(4, 1);
    const random = new DeterministicRandom(5);
    const n = 40_000;
    const counts = [0, 0, 0, 0];
    for (let i = 0; i < n; i++) counts[mechanism.decode(mechanism.randomise(2, random))]++;
    counts.forEach((count, v) => {
      const p = v === 2 ? mechanism.keepProbability : mechanism.otherProbability;
      expect(Math.abs(count - n * p)).toBeLessThan(5 * Math.sqrt(n * p * (1 - p)));
    });
  });

  it('uses one byte up to 256 classes and two above', () => {
    const keep = () => new ScriptedRandom([new Uint8Array(8)]);
    expect([...krr(256, 1).randomise(255, keep())]).toEqual([255]);
    expect([...krr(257, 1).randomise(256, keep())]).toEqual([0, 1]);
    expect([...krr(65_536, 1).randomise(65_535, keep())]).toEqual([255, 255]);
    expect(krr(65_536, 1).decode(Uint8Array.of(255, 255))).toBe(65_535);
  });

  it('names what is wrong with a payload', () => {
    expect(krr(10, 1).fault(Uint8Array.of(9))).toBeUndefined();
    expect(krr(10, 1).fault(Uint8Array.of(10))).toBe('the label is 10: it must be below 10');
    expect(krr(10, 1).fault(Uint8Array.of(1, 0))).toMatch(/2 bytes: it must have 1/);
    expect(() => krr(10, 1).logLikelihood(Uint8Array.of(10), 0)).toThrow(/it must be below 10/);
  });

  it.each([-1, 10, 1.5, NaN, '3' as unknown as number])('refuses the label %p', (y) => {
    const act = () => krr(10, 1).randomise(y, new DeterministicRandom(1));
    expect(act).toThrow(/integer from 0 to 9/);
    expect(act).toThrow(expect.objectContaining({ code: 'outside-domain' }));
  });

  it.each([
    [1, 1, /classes is 1/],
    [65_537, 1, /classes is 65537/],
    [2.5, 1, /classes is 2\.5/],
    [10, 0, /ε of the label is 0/],
    [10, -1, /is -1/],
    [10, 1001, /is 1001/],
    [10, Infinity, /is Infinity/],
  ])('refuses K = %p with ε = %p', (classes, epsilon, message) => {
    expect(() => krr(classes, epsilon)).toThrow(message);
  });
});
