const word = new DataView(new ArrayBuffer(8));

/** The smallest double above `x`; `x` itself when it is NaN or +∞. */
export function nextUp(x: number): number {
  if (Number.isNaN(x) || x === Infinity) return x;
  if (x === 0) return Number.MIN_VALUE;
  word.setFloat64(0, x);
  word.setBigInt64(0, word.getBigInt64(0) + (x > 0 ? 1n : -1n));
  return word.getFloat64(0);
}

/** The largest double below `x`; `x` itself when it is NaN or −∞. */
export function nextDown(x: number): number {
  return -nextUp(-x);
}

/** a + b rounded towards +∞ (Knuth's two-sum tells the sign of what rounding to nearest dropped). */
export function addUp(a: number, b: number): number {
  const sum = a + b;
  const bRounded = sum - a;
  const dropped = a - (sum - bRounded) + (b - bRounded);
  return dropped > 0 ? nextUp(sum) : sum;
}

/**
 * a / b rounded towards +∞, for positive a and b whose quotient and product stay far from overflow and
 * underflow (|exponent| < 900): Dekker's two-product tells whether quotient · b falls short of a.
 */
export function divideUp(a: number, b: number): number {
  const quotient = a / b;
  const product = quotient * b;
  const [qHigh, qLow] = split(quotient);
  const [bHigh, bLow] = split(b);
  const dropped = qHigh * bHigh - product + qHigh * bLow + qLow * bHigh + qLow * bLow;
  return product - a + dropped < 0 ? nextUp(quotient) : quotient;
}

/** Veltkamp: x = high + low, each of at most 26 bits, so that their products are exact. */
function split(x: number): [number, number] {
  const scaled = x * 134217729;
  const high = scaled - (scaled - x);
  return [high, x - high];
}
