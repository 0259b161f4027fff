const WORD = 2 ** 32;

/**
 * A permutation of 0 … n − 1 that depends on `seed` alone, the same on every machine: Fisher–Yates from the end,
 * drawing from xoshiro128** (Blackman and Vigna, doi:10.1145/3460772) without modulo bias; its four words are two
 * outputs of SplitMix64, low halves first. For splits, never for privacy.
 *
 * @param n below 2³²
 * @param seed a non-negative integer
 */
export function permutation(n: number, seed: number): Uint32Array {
  const order = Uint32Array.from({ length: n }, (_, i) => i);
  const next = xoshiro128(seed);
  for (let i = n - 1; i > 0; i--) {
    const j = below(i + 1, next);
    const kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
  return order;
}

function below(bound: number, next: () => number): number {
  const limit = WORD - (WORD % bound);
  let word = next();
  while (word >= limit) word = next();
  return word % bound;
}

function xoshiro128(seed: number): () => number {
  let [a, b, c, d] = seedWords(seed);
  return () => {
    const word = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = rotate(d, 11);
    return word;
  };
}

function rotate(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}

function seedWords(seed: number): [number, number, number, number] {
  let state = BigInt(seed);
  const next = () => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    let z = state;
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
  };
  const halves = (z: bigint) => [Number(z & 0xffffffffn), Number(z >> 32n)];
  return [...halves(next()), ...halves(next())] as [number, number, number, number];
}
