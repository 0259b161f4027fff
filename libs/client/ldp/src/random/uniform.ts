import { LdpError } from '../ldp-error';
import type { RandomSource } from './random-source';

const TWO_32 = 2 ** 32;
export const TWO_53 = 2 ** 53;
const MAXIMUM_TRIES = 256;

const scratch = new Uint8Array(8);
const view = new DataView(scratch.buffer);

/** The 53 low bits of the eight bytes at `offset` (little-endian), in [0, 2^53). */
export function low53Bits(bytes: DataView, offset: number): number {
  return (bytes.getUint32(offset + 4, true) & 0x1fffff) * TWO_32 + bytes.getUint32(offset, true);
}

/** A uniform integer in [0, 2^53). */
export function uniformInteger53(source: RandomSource): number {
  source.fill(scratch);
  const value = low53Bits(view, 0);
  scratch.fill(0);
  return value;
}

/** A uniform multiple of 2^-53 in [0, 1). */
export function uniformUnit(source: RandomSource): number {
  return uniformInteger53(source) / TWO_53;
}

/**
 * A uniform integer in [0, n), n an integer in [1, 2^32]: words from the incomplete last block are drawn again,
 * so that there is no modulo bias.
 *
 * @throws LdpError `invalid-parameter` for another n; `no-random-source` after 256 refused words in a row
 * (chance below 2^-256 with uniform bytes: the source is stuck).
 */
export function uniformBelow(source: RandomSource, n: number): number {
  if (!Number.isInteger(n) || n < 1 || n > TWO_32) {
    throw new LdpError('invalid-parameter', `n is ${n}: it must be an integer from 1 to 2^32`);
  }
  const limit = TWO_32 - (TWO_32 % n);
  for (let i = 0; i < MAXIMUM_TRIES; i++) {
    source.fill(scratch);
    const word = view.getUint32(0, true);
    scratch.fill(0);
    if (word < limit) return word % n;
  }
  throw new LdpError('no-random-source', 'the random source repeats itself: it does not give uniform bytes');
}
