import { createHash } from 'node:crypto';

const TWO_POW_MINUS_24 = 2 ** -24;
const TWO_POW_MINUS_26 = 2 ** -26;
const TWO_POW_MINUS_53 = 2 ** -53;

/**
 * A repeatable stream of random numbers for initialisers, shuffles and training noise: xoshiro128** by Blackman and
 * Vigna (doi 10.1145/3460772), its state being the first 128 bits of SHA-256 over `[seed, ...stream]` as JSON. Streams
 * of different names are independent for every purpose of training, so step 1,000 needs no state of step 999.
 *
 * Never for privacy: anyone who knows the seed knows the numbers.
 */
export class SeededRandom {
  private a: number;
  private b: number;
  private c: number;
  private d: number;
  private spareNormal: number | undefined;

  /** @param seed any finite number; @param stream what the numbers are for, e.g. `'noise', 1000` */
  constructor(seed: number, ...stream: readonly (number | string)[]) {
    if (!Number.isFinite(seed)) throw new RangeError(`a seed must be a finite number, got ${seed}`);
    const digest = createHash('sha256')
      .update(JSON.stringify([seed, ...stream]))
      .digest();
    this.a = digest.readInt32LE(0);
    this.b = digest.readInt32LE(4);
    this.c = digest.readInt32LE(8);
    this.d = digest.readInt32LE(12);
    if ((this.a | this.b | this.c | this.d) === 0) this.a = 1;
  }

  /** The generator itself, from a given state; for known-answer tests. */
  static fromState(state: readonly [number, number, number, number]): SeededRandom {
    const random = new SeededRandom(0);
    [random.a, random.b, random.c, random.d] = state;
    return random;
  }

  /** Uniform on the integers 0 … 2³² − 1. */
  uint32(): number {
    const scrambled = Math.imul(this.b, 5);
    const result = Math.imul((scrambled << 7) | (scrambled >>> 25), 9) >>> 0;
    const shifted = this.b << 9;
    this.c ^= this.a;
    this.d ^= this.b;
    this.b ^= this.c;
    this.a ^= this.d;
    this.c ^= shifted;
    this.d = (this.d << 11) | (this.d >>> 21);
    return result;
  }

  /** Uniform on the multiples of 2⁻⁵³ in [0, 1). */
  uniform(): number {
    const high = this.uint32() >>> 5;
    const low = this.uint32() >>> 6;
    return (high + low * TWO_POW_MINUS_26) * 2 ** -27;
  }

  /** Uniform on the integers 0 … `n` − 1, without modulo bias. */
  below(n: number): number {
    if (!Number.isInteger(n) || n < 1 || n > 2 ** 32) {
      throw new RangeError(`below(n) needs an integer n from 1 to 2^32, got ${n}`);
    }
    const limit = 2 ** 32 - (2 ** 32 % n);
    for (;;) {
      const draw = this.uint32();
      if (draw < limit) return draw % n;
    }
  }

  /** Standard normal (Box–Muller). */
  normal(): number {
    if (this.spareNormal !== undefined) {
      const spare = this.spareNormal;
      this.spareNormal = undefined;
      return spare;
    }
    const radius = Math.sqrt(-2 * Math.log(this.uniform() + TWO_POW_MINUS_53));
    const angle = 2 * Math.PI * this.uniform();
    this.spareNormal = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }

  /** A uniformly drawn order of 0 … `n` − 1 (Fisher–Yates). */
  permutation(n: number): Uint32Array<ArrayBuffer> {
    const order: Uint32Array<ArrayBuffer> = Uint32Array.from({ length: n }, (_, i) => i);
    for (let i = n - 1; i > 0; i--) {
      const j = this.below(i + 1);
      const held = order[i];
      order[i] = order[j];
      order[j] = held;
    }
    return order;
  }

  /**
   * Fills with uniform numbers strictly between `low` and `high`: odd multiples of 2⁻²⁴ of the range, which float32
   * holds exactly on (−½, ½) and (0, 1), so that neither end nor the middle of (−½, ½) is ever drawn.
   */
  fillUniform(target: Float32Array, low: number, high: number): Float32Array {
    const width = high - low;
    for (let i = 0; i < target.length; i++) {
      target[i] = low + width * ((2 * (this.uint32() >>> 9) + 1) * TWO_POW_MINUS_24);
    }
    return target;
  }

  /** Fills with independent normal numbers of mean 0. */
  fillNormal(target: Float32Array, deviation: number): Float32Array {
    for (let i = 0; i < target.length; i++) target[i] = deviation * this.normal();
    return target;
  }
}
