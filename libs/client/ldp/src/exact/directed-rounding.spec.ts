import fc from 'fast-check';
import { Rational } from '../../testing/rational';
import { addUp, divideUp, nextDown, nextUp } from './directed-rounding';

const moderate = fc.double({ min: 1e-9, max: 1e9, noNaN: true });

describe('directed rounding', () => {
  it('steps to the neighbouring double', () => {
    expect(nextUp(1)).toBe(1 + Number.EPSILON);
    expect(nextDown(1)).toBe(1 - Number.EPSILON / 2);
    expect(nextUp(0)).toBe(Number.MIN_VALUE);
    expect(nextUp(-0)).toBe(Number.MIN_VALUE);
    expect(nextUp(-Number.MIN_VALUE)).toBe(-0);
    expect(nextUp(Number.MAX_VALUE)).toBe(Infinity);
    expect(nextUp(Infinity)).toBe(Infinity);
    expect(nextUp(NaN)).toBeNaN();
  });

  it('adds to the smallest double that is not below the real sum', () => {
    fc.assert(
      fc.property(moderate, moderate, (a, b) => {
        const real = Rational.of(a).plus(Rational.of(b));
        const sum = addUp(a, b);
        expect(real.isAtMost(Rational.of(sum))).toBe(true);
        expect(real.isAtMost(Rational.of(nextDown(sum)))).toBe(false);
      }),
    );
  });

  it('divides to the smallest double that is not below the real quotient', () => {
    fc.assert(
      fc.property(moderate, moderate, (a, b) => {
        const quotient = divideUp(a, b);
        const covers = (q: number) => Rational.of(a).isAtMost(Rational.of(q).times(Rational.of(b)));
        expect(covers(quotient)).toBe(true);
        expect(covers(nextDown(quotient))).toBe(false);
      }),
    );
  });
});
