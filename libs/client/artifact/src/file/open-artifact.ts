import { Artifact } from '../artifact';
import { ArtifactError } from '../artifact-error';
import { weightSizes, type EncoderSpec } from '../body/artifact-body';
import { readHeader } from '../body/read-body';
import { splitFile } from './layout';
import { requireWeights } from './seal-artifact';
import { digestOf, isSignedBy, keyBytes, toHex } from './signature';

export interface OpenOptions {
  /**
   * Ed25519 public keys, 64 hexadecimal digits each: the artifact must be signed by one of them. `'any-signer'`
   * takes whoever signed, for a service that reads back what it stored by id: a device never does.
   */
  readonly trustedKeys: readonly string[] | 'any-signer';
  /** The id asked for, 64 hexadecimal digits. */
  readonly expectedId?: string;
}

/**
 * Checks a file and opens it. Lengths, signer, signature and id are checked before a byte of the header is decoded,
 * so that only bytes signed by a trusted key reach the decoder; then every rule of the format, and that the claim
 * equals the one recomputed from the randomiser.
 *
 * @throws ArtifactError with the reason as its `code`; nothing of a refused file is used.
 */
export function openArtifact(file: Uint8Array, { trustedKeys, expectedId }: OpenOptions): Artifact {
  const parts = splitFile(file);
  const signer = requireTrusted(parts.signer, trustedKeys);
  const digest = digestOf(parts.content);
  if (!isSignedBy(parts.signer, digest, parts.signature)) {
    throw new ArtifactError(
      'damaged',
      'the signature does not fit the content: the file was changed after it was signed; fetch it again',
    );
  }
  const id = toHex(digest);
  if (expectedId !== undefined && expectedId.toLowerCase() !== id) {
    throw new ArtifactError('wrong-id', `the artifact is ${id} and ${expectedId} was asked for`);
  }
  const { body, randomiser } = readHeader(parts.header);
  return new Artifact({ id, signer, body, randomiser, weights: readWeights(parts.weights, body.encoder) });
}

function requireTrusted(signer: Uint8Array, trustedKeys: OpenOptions['trustedKeys']): string {
  const hex = toHex(signer);
  if (trustedKeys === 'any-signer') return hex;
  if (!trustedKeys.some((key) => toHex(keyBytes(key, 'a trusted key')) === hex)) {
    throw new ArtifactError(
      'untrusted-signer',
      `the artifact is signed by ${hex}, which isn't one of the ${trustedKeys.length} trusted keys`,
    );
  }
  return hex;
}

function readWeights(bytes: Uint8Array, encoder: EncoderSpec): Float32Array[] {
  const sizes = weightSizes(encoder);
  const expected = 4 * sizes.reduce((a, b) => a + b, 0);
  if (bytes.length !== expected) {
    throw new ArtifactError('invalid', `the weights have ${bytes.length} bytes: the layers take ${expected}`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const weights = sizes.map((size) => {
    const array = new Float32Array(size);
    for (let i = 0; i < size; i++, at += 4) array[i] = view.getFloat32(at, true);
    return array;
  });
  requireWeights(weights, sizes);
  return weights;
}
