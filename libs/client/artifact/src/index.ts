export type { Artifact } from './artifact';
export { ArtifactError, type ArtifactErrorCode } from './artifact-error';
export {
  mechanismClaim,
  type ArtifactBody,
  type AuxiliaryGuarantee,
  type EncoderLayer,
  type EncoderSpec,
  type MechanismClaim,
} from './body/artifact-body';
export { Encoder } from './encoder/encoder';
export { FORMAT_VERSION } from './file/layout';
export { openArtifact, type OpenOptions } from './file/open-artifact';
export { sealArtifact } from './file/seal-artifact';
export { generateSigningKey, signingKeyOf, type SigningKey } from './file/signature';
export { InputError, type InputErrorCode } from './input-schema/input-error';
export {
  decoderHeads,
  inputDimension,
  vectorise,
  type CategoricalColumn,
  type Column,
  type DecoderHead,
  type ImageSchema,
  type InputSchema,
  type NumericColumn,
  type RawRecord,
  type TableSchema,
} from './input-schema/input-schema';
