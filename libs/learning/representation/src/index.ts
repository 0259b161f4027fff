export {
  decodeModelFile,
  encodeModelFile,
  ModelFileError,
  type ModelFile,
  type ModelFileErrorCode,
  type Plain,
} from './model-file/model-file';
export { FeedForward, type DenseShape } from './network/feed-forward';
export {
  deserialisePrior,
  serialisePrior,
  weightedPrototypes,
  type Prior,
  type PrototypeSettings,
} from './prior/prior';
export { EpochBatches, gatherRows } from './training/epoch-batches';
export { Decoder } from './vrlm/decoder';
export { fitVrlm, type VrlmRequest } from './vrlm/fit-vrlm';
export { publishedNetwork, type PlainNetwork } from './vrlm/published-network';
export { encodeRecords, TrainedVrlm, type Elbo, type PublishedEncoder } from './vrlm/trained-vrlm';
export {
  DEFAULT_VRLM_SETTINGS,
  RepresentationError,
  suggestedTrainingEpsilon,
  vrlmSettings,
  type VrlmSettings,
} from './vrlm/vrlm-settings';
