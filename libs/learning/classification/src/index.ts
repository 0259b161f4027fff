export { ClassificationError, type ClassificationErrorCode } from './classification-error';
export { Classifier, type ClassifierParts } from './classifier/classifier';
export { mostLikely } from './classifier/softmax';
export { measureAccuracy, wilsonInterval, type Accuracy } from './evaluation/accuracy';
export {
  evaluate,
  floorWithoutReports,
  privatiseInputs,
  type Evaluation,
  type EvaluationRequest,
} from './evaluation/evaluate';
export {
  assertBelowCeiling,
  ceiling,
  chanceMargin,
  checkCeiling,
  FALSE_ALARM_PROBABILITY,
  PrivacyAlarm,
  type CeilingCheck,
} from './evaluation/privacy-alarm';
export { fitMarginalised, type MarginalisedFit, type MarginalisedRequest } from './fit/fit-marginalised';
export { DEFAULT_FIT_SETTINGS, fitSettings, type FitSettings } from './fit/fit-settings';
export { type FitControl } from './fit/train-network';
export {
  likelihoodTable,
  MAXIMUM_TABLE_BYTES,
  PrototypePosterior,
  type FactorisedTable,
  type JointTable,
  type LikelihoodTable,
  type TableRequest,
} from './likelihood/likelihood-table';
export { fitRoof, type RoofRequest } from './reference/fit-roof';
