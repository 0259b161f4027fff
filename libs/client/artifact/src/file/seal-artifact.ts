import { ArtifactError } from '../artifact-error';
import { weightSizes, type ArtifactBody } from '../body/artifact-body';
import { encodeCanonical } from '../body/canonical-cbor';
import { readBody, readHeader } from '../body/read-body';
import { joinContent, joinFile } from './layout';
import { digestOf, sign, toHex, type SigningKey } from './signature';

/**
 * Makes the one file of a mechanism. Its content bytes are canonical: the same body and weights give the same id on
 * every machine, whoever signs.
 *
 * @param weights float32 kernel `[inputs, outputs]` row-major and bias `[outputs]` of each layer, in order.
 * @returns `id`: SHA-256 of the content, 64 hexadecimal digits; `file`: content and signature.
 * @throws ArtifactError `invalid` (a field, size or weight against the format), `claim-mismatch`, `invalid-key`.
 */
export function sealArtifact(
  body: ArtifactBody,
  weights: readonly Float32Array[],
  signingKey: Pick<SigningKey, 'secretKey'>,
): { id: string; file: Uint8Array } {
  const checked = readBody(body).body;
  requireWeights(weights, weightSizes(checked.encoder));
  const header = encodeCanonical(checked);
  // What is published must open: plain numbers exist that don't come back from CBOR as they went in.
  readHeader(header);
  const content = joinContent(header, weights);
  const digest = digestOf(content);
  const { signer, signature } = sign(digest, signingKey);
  return { id: toHex(digest), file: joinFile(content, signer, signature) };
}

/** @throws ArtifactError `invalid` on a wrong number or size of arrays, or a number that isn't finite. */
export function requireWeights(weights: readonly Float32Array[], sizes: readonly number[]): void {
  if (weights.length !== sizes.length) {
    throw new ArtifactError(
      'invalid',
      `there are ${weights.length} arrays of weights: there must be ${sizes.length}, a kernel and a bias a layer`,
    );
  }
  for (const [i, array] of weights.entries()) {
    const what = `the ${i % 2 === 0 ? 'kernel' : 'bias'} of layer ${Math.floor(i / 2)}`;
    if (array.length !== sizes[i]) {
      throw new ArtifactError('invalid', `${what} has ${array.length} numbers: it must have ${sizes[i]}`);
    }
    const at = array.findIndex((w) => !Number.isFinite(w));
    if (at >= 0) {
      throw new ArtifactError('invalid', `${what} holds ${array[at]} at ${at}: weights must be finite`);
    }
  }
}
