/** Fractional bits of the fixed-point numbers here. */
export const FIXED_POINT_BITS = 192n;

const REDUCTION_BITS = 14n;

/** `x` in [2^-60, 1024) as a fixed-point integer with FIXED_POINT_BITS fractional bits; exact. */
function toFixedPoint(x: number): bigint {
  const scale = 2 ** 120;
  return BigInt(x * scale) << (FIXED_POINT_BITS - 120n);
}

/**
 * A lower bound of e^x for x in [2^-60, 1024), as an integer with FIXED_POINT_BITS fractional bits, within a
 * relative 2^-160 of the truth.
 *
 * Math.exp isn't used: its error is up to each JavaScript engine, and a bound on privacy can't hang on that.
 * Taylor's series of e^(x/2^14) and 14 squarings, all truncated: every term is positive, so truncation only lowers.
 */
export function exponentialLowerBound(x: number): bigint {
  const one = 1n << FIXED_POINT_BITS;
  const reduced = toFixedPoint(x) >> REDUCTION_BITS;
  let sum = one;
  let term = one;
  for (let k = 1n; term > 0n; k += 1n) {
    term = ((term * reduced) >> FIXED_POINT_BITS) / k;
    sum += term;
  }
  for (let i = 0n; i < REDUCTION_BITS; i += 1n) sum = (sum * sum) >> FIXED_POINT_BITS;
  return sum;
}
