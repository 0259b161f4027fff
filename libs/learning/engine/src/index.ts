export { CheckpointError, type CheckpointErrorCode, EngineError, type EngineErrorCode } from './errors';
export { type BackendInfo, type BackendName, initialiseBackend } from './backend/initialise-backend';
export { trainerEnvironment } from './backend/trainer-environment';
export { SeededRandom } from './random/seeded-random';
export { glorotUniform, heNormal, type Initialiser, sizeOf, zeros } from './random/initialisers';
export { type Layer, type NamedTensors, type ParameterSpec, type Tap, type TapSite } from './layers/layer';
export { type Activation, Dense, type DenseOptions } from './layers/dense';
export { Sequential } from './layers/sequential';
export { affine } from './operations/affine';
export { relu } from './operations/relu';
export { bernoulliLoss, softmaxLoss } from './operations/losses';
export {
  type AdamSettings,
  type ConstantSpec,
  type FeedSpec,
  type NumberType,
  type StepDefinition,
  type StepResult,
  type StepState,
  type TrainingStep,
  type Values,
} from './step/step-definition';
export { compileStep } from './step/compile-step';
export {
  constantRate,
  cosineDecay,
  oneCycle,
  type OneCycleSettings,
  type Schedule,
} from './training/schedules';
export { type Checkpoint, type HistoryEntry, loadCheckpoint, saveCheckpoint } from './training/checkpoint';
export {
  runTraining,
  type TrainingOptions,
  type TrainingProgress,
  type TrainingResult,
} from './training/run-training';
export { fingerprintOf, type TrainingIdentity } from './training/fingerprint';
