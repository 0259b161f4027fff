import fc from 'fast-check';
import { Rational } from '../../testing/rational';
import { addEpsilons, splitBudget } from './epsilon';

const epsilon = fc.double({ min: 0.001, max: 100, noNaN: true });

describe('addEpsilons', () => {
  it('never rounds an ε down', () => {
    expect(addEpsilons(6, 2)).toBe(8);
    expect(0.7 + 0.1).toBeLessThan(0.8);
    expect(addEpsilons(0.7, 0.1)).toBe(0.8);
    fc.assert(
      fc.property(epsilon, epsilon, (a, b) => {
        const real = Rational.of(a).plus(Rational.of(b));
        expect(real.isAtMost(Rational.of(addEpsilons(a, b)))).toBe(true);
      }),
    );
  });

  it.each([NaN, -1, Infinity])('refuses %p', (bad) => {
    expect(() => addEpsilons(1, bad)).toThrow(/finite and not negative/);
  });
});

describe('splitBudget', () => {
  it('splits in the given share and never spends more than the whole', () => {
    expect(splitBudget(8, 0.75)).toEqual({ representation: 6, label: 2 });
    fc.assert(
      fc.property(epsilon, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (whole, lambda) => {
        const { representation, label } = splitBudget(whole, lambda);
        expect(addEpsilons(representation, label)).toBeLessThanOrEqual(whole);
        expect(representation).toBe(whole * lambda);
        expect(label).toBeCloseTo(whole * (1 - lambda), 10);
      }),
    );
  });

  it.each([0, 1, -0.5, NaN])('refuses λ = %p', (lambda) => {
    expect(() => splitBudget(8, lambda)).toThrow(/strictly between 0 and 1/);
  });

  it('refuses a part too small to mean anything', () => {
    expect(() => splitBudget(1e-6, 0.5)).toThrow(/ε of the representation is 5e-7/);
  });
});
