/**
 * Why a file isn't taken for an artifact, for programs:
 * `damaged` not an artifact, cut short, or changed after it was signed; `unsigned` no signature; `untrusted-signer`
 * signed by a key that the reader doesn't trust; `future-version` of a later format; `claim-mismatch` the claim it
 * states isn't the one that its randomiser gives; `wrong-id` not the artifact asked for; `invalid` well signed but
 * against a rule of the format; `invalid-key` a signing or trusted key that isn't 64 hexadecimal digits.
 */
export type ArtifactErrorCode =
  | 'damaged'
  | 'unsigned'
  | 'untrusted-signer'
  | 'future-version'
  | 'claim-mismatch'
  | 'wrong-id'
  | 'invalid'
  | 'invalid-key';

/** Nothing of the file is used when this is thrown. */
export class ArtifactError extends Error {
  override readonly name = 'ArtifactError';

  constructor(
    readonly code: ArtifactErrorCode,
    message: string,
  ) {
    super(message);
  }
}
