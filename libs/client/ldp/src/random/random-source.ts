/**
 * Independent, uniform bytes. Every guarantee of this package rests on the source: in production it is a
 * cryptographic generator (`WebCryptoRandom`), and a seeded one exists for specs only.
 */
export interface RandomSource {
  /** Overwrites every byte of `bytes`. */
  fill(bytes: Uint8Array): void;
}
