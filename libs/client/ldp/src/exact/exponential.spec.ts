import fc from 'fast-check';
import { exponentialBounds, Rational } from '../../testing/rational';
import { exponentialLowerBound, FIXED_POINT_BITS } from './exponential';

const epsilon = fc.oneof(
  fc.double({ min: 1e-6, max: 1, noNaN: true }),
  fc.double({ min: 1, max: 40, noNaN: true }),
);

describe('exponentialLowerBound', () => {
  it.each([1e-6, 0.5, 1, Math.LN2, 8, 36.9, 64])('is below e^%p and within 2^-150 of it', check);

  it('is so for any ε', () => {
    fc.assert(fc.property(epsilon, check), { numRuns: 60 });
  });

  it('reaches the largest ε', () => {
    const bound = exponentialLowerBound(1000) >> FIXED_POINT_BITS;
    // e^1000 = 1.97007111401704699388887935…e434
    expect(bound.toString()).toHaveLength(435);
    expect(bound.toString().slice(0, 24)).toBe('197007111401704699388887');
  });

  function check(x: number) {
    const bound = new Rational(exponentialLowerBound(x), 1n << FIXED_POINT_BITS);
    const { above, below } = exponentialBounds(x, 60);
    const slack = new Rational((1n << 150n) + 1n, 1n << 150n);
    expect(bound.isAtMost(above)).toBe(true);
    expect(below.isAtMost(bound.times(slack))).toBe(true);
  }
});
