import type { RandomSource } from '../src/random/random-source';

/** Hands out given bytes, call by call, and counts the calls: a spec says what is drawn. */
export class ScriptedRandom implements RandomSource {
  calls = 0;

  constructor(private readonly script: readonly Uint8Array[]) {}

  fill(bytes: Uint8Array): void {
    const next = this.script[this.calls++ % this.script.length];
    bytes.set(next.subarray(0, bytes.length));
  }

  /** Eight little-endian bytes whose low 53 bits are `value`; bit 63 is set where `sign` is −1. */
  static word(value: number, sign: 1 | -1 = 1): Uint8Array {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigUint64(0, BigInt(value) | (sign < 0 ? 1n << 63n : 0n), true);
    return bytes;
  }
}
