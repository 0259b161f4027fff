import { decode, encode } from 'cbor2';

/** The one encoding of plain data under Common Deterministic Encoding (sorted keys, shortest numbers). */
export function encodeCanonical(value: unknown): Uint8Array {
  return encode(value, { cde: true });
}

/** Throws on what isn't well-formed, isn't in deterministic encoding, or is followed by more bytes. */
export function decodeCanonical(bytes: Uint8Array): unknown {
  return decode(bytes, { cde: true, maxDepth: 16 });
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
