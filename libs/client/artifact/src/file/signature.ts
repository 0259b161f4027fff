import { ed25519 } from '@noble/curves/ed25519';
import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils';
import type { RandomSource } from '@undertone/ldp';
import { ArtifactError } from '../artifact-error';

/** An Ed25519 key pair, 64 hexadecimal digits each. The secret key signs artifacts and never leaves the trusted side. */
export interface SigningKey {
  readonly secretKey: string;
  readonly publicKey: string;
}

/** Keeps a signature of an artifact from ever being one of anything else. */
const DOMAIN = utf8ToBytes('undertone artifact signature 1\n');

/** @param random a cryptographic source. */
export function generateSigningKey(random: RandomSource): SigningKey {
  const secret = new Uint8Array(32);
  random.fill(secret);
  return signingKeyOf(bytesToHex(secret));
}

/** The key pair of a secret key. @throws ArtifactError `invalid-key`; the message never shows the key. */
export function signingKeyOf(secretKey: string): SigningKey {
  const secret = keyBytes(secretKey, 'the signing key');
  return { secretKey: bytesToHex(secret), publicKey: bytesToHex(ed25519.getPublicKey(secret)) };
}

export function digestOf(content: Uint8Array): Uint8Array {
  return sha256(content);
}

export function sign(
  digest: Uint8Array,
  key: Pick<SigningKey, 'secretKey'>,
): { signer: Uint8Array; signature: Uint8Array } {
  const secret = keyBytes(key.secretKey, 'the signing key');
  return {
    signer: ed25519.getPublicKey(secret),
    signature: ed25519.sign(concatBytes(DOMAIN, digest), secret),
  };
}

/** RFC 8032, strict: small-order keys and non-canonical points are refused. */
export function isSignedBy(signer: Uint8Array, digest: Uint8Array, signature: Uint8Array): boolean {
  try {
    return ed25519.verify(signature, concatBytes(DOMAIN, digest), signer, { zip215: false });
  } catch {
    return false;
  }
}

/** @throws ArtifactError `invalid-key`; the message never shows the key. */
export function keyBytes(hex: string, what: string): Uint8Array {
  if (typeof hex !== 'string' || !/^[0-9a-f]{64}$/i.test(hex)) {
    throw new ArtifactError('invalid-key', `${what} must be 64 hexadecimal digits`);
  }
  return hexToBytes(hex);
}

export function toHex(bytes: Uint8Array): string {
  return bytesToHex(bytes);
}
