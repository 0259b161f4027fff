import type { EncoderLayer, InputSchema } from '@undertone/artifact';
import type { DatasetSpec } from '@undertone/datasets';
import type { BackendInfo } from '@undertone/engine';
import type { Elbo, VrlmSettings } from '@undertone/representation';

/** What the trainer of mechanisms is asked. Plain data. */
export interface MechanismTraining {
  /** D1. Its labels are never read. */
  dataset: DatasetSpec;
  dataRoots: readonly string[];
  /** The label set of reports; the data set's own where it's left out. */
  labels?: readonly string[];
  settings: Partial<VrlmSettings>;
  /** ε of the representation in a report: a conditioned encoder is published for it. */
  representationEpsilon: number;
  /** Weighted prototypes that stand for D1's codes. */
  prototypes: number;
  seed: number;
  engine: 'auto' | BackendInfo['name'];
}

/** What came of it, besides the files that it names in the work folder. Plain data. */
export interface TrainedMechanism {
  schema: InputSchema;
  labels: readonly string[];
  d1: { name: string; rows: number };
  encoder: { layers: readonly EncoderLayer[]; radius: number };
  settings: VrlmSettings;
  elbo: Elbo;
  /** s of the learned prior Laplace(0, s). */
  priorScale: number;
  engine: { name: string; library: string };
  files: { encoder: string; prior: string; decoder: string };
}

/** Kind of the model file that holds the encoder's weights, `weight0`, `weight1`, …: kernel and bias of each layer. */
export const ENCODER_FILE = 'encoder';
