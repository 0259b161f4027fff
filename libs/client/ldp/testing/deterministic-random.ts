import type { RandomSource } from '../src/random/random-source';

/** A seeded source for specs (xoshiro128**, seeded by splitmix32): the same bytes on every run, no secrecy at all. */
export class DeterministicRandom implements RandomSource {
  private readonly state = new Uint32Array(4);

  constructor(seed: number) {
    let s = seed >>> 0;
    for (let i = 0; i < 4; i++) {
      s = (s + 0x9e3779b9) >>> 0;
      let t = Math.imul(s ^ (s >>> 16), 0x21f0aaad);
      t = Math.imul(t ^ (t >>> 15), 0x735a2d97);
      this.state[i] = t ^ (t >>> 15);
    }
  }

  fill(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i += 4) {
      const word = this.next();
      for (let j = 0; j < 4 && i + j < bytes.length; j++) bytes[i + j] = word >>> (8 * j);
    }
  }

  private next(): number {
    const s = this.state;
    const result = Math.imul(rotate(Math.imul(s[1], 5), 7), 9);
    const t = s[1] << 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 11);
    return result;
  }
}

function rotate(x: number, bits: number): number {
  return (x << bits) | (x >>> (32 - bits));
}
