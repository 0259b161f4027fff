/** An exact fraction, for specs that prove instead of sampling; the denominator is positive and nothing is reduced. */
export class Rational {
  constructor(
    readonly numerator: bigint,
    readonly denominator = 1n,
  ) {}

  /** The number that a double stands for. */
  static of(x: number): Rational {
    let exponent = 0;
    while (!Number.isInteger(x)) {
      x *= 2;
      exponent++;
    }
    return new Rational(BigInt(x), 1n << BigInt(exponent));
  }

  plus(other: Rational): Rational {
    return new Rational(
      this.numerator * other.denominator + other.numerator * this.denominator,
      this.denominator * other.denominator,
    );
  }

  times(other: Rational): Rational {
    return new Rational(this.numerator * other.numerator, this.denominator * other.denominator);
  }

  isAtMost(other: Rational): boolean {
    return this.numerator * other.denominator <= other.numerator * this.denominator;
  }
}

/**
 * Two fractions around e^x: the partial sum of the Taylor series below, and it plus a bound of the rest above
 * (the rest is at most the last term when the next ratio x/(n + 1) is at most ½).
 */
export function exponentialBounds(x: number, digits = 40): { below: Rational; above: Rational } {
  const { numerator: p, denominator: q } = Rational.of(x);
  const unit = 10n ** BigInt(digits);
  // Σ pᵏ/(qᵏ k!) over one common denominator qⁿ n!, kept by Horner's rule from the last term.
  let n = 1n;
  for (let term = unit * p; term > q * n || 2n * p > q * (n + 1n);) {
    n += 1n;
    term = (term * p) / (q * n);
  }
  n += 20n;
  let sum = 1n;
  let denominator = 1n;
  for (let k = n; k >= 1n; k -= 1n) {
    // 1 + x/k · (sum/denominator)
    sum = q * k * denominator + p * sum;
    denominator = q * k * denominator;
  }
  let last = new Rational(1n);
  for (let k = 1n; k <= n; k += 1n) last = last.times(new Rational(p, q * k));
  const below = new Rational(sum, denominator);
  return { below, above: below.plus(last) };
}
