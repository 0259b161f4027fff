import fc from 'fast-check';
import { Rational } from '../../testing/rational';
import oracle from '../laplace-l1/laplace-l1.oracle.json';
import { l1NormUpperBound, scaleIntoL1Ball } from './l1-ball';

const coordinate = fc.double({ min: -1e6, max: 1e6, noNaN: true });
const radius = fc.double({ min: 1e-3, max: 1e3, noNaN: true });

const realNorm = (z: ArrayLike<number>) =>
  Array.from(z).reduce((sum, x) => sum.plus(Rational.of(Math.abs(x))), new Rational(0n));

describe('scaleIntoL1Ball', () => {
  it.each(oracle.ball)('scales $x at radius $l', ({ x, l, scaled }) => {
    const z = scaleIntoL1Ball(x, l);
    scaled.forEach((value, i) => expect(z[i]).toBeCloseTo(value, 12));
  });

  it('ends inside the ball over the reals, not only up to rounding, and keeps the direction', () => {
    fc.assert(
      fc.property(fc.array(coordinate, { minLength: 1, maxLength: 24 }), radius, (h, l) => {
        const z = scaleIntoL1Ball(h, l);
        expect(realNorm(z).isAtMost(Rational.of(l))).toBe(true);
        const share = Math.min(1, l / l1NormUpperBound(h));
        h.forEach((x, i) => expect(Math.abs(z[i] - x * share)).toBeLessThanOrEqual(1e-12 * l));
      }),
    );
  });

  it('leaves what is inside exactly as it is', () => {
    expect([...scaleIntoL1Ball([0.5, -0.5, 0], 1)]).toEqual([0.5, -0.5, 0]);
    expect([...scaleIntoL1Ball([], 1)]).toEqual([]);
  });

  it.each([NaN, Infinity, -Infinity])('refuses a coordinate %p by its place', (bad) => {
    expect(() => scaleIntoL1Ball([0, bad], 1)).toThrow(/coordinate 1 is/);
  });

  it('refuses a norm that overflows', () => {
    expect(() => scaleIntoL1Ball([1.7e308, 1.7e308], 1)).toThrow(/overflows/);
  });
});
