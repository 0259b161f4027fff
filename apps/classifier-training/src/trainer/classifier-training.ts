import type { Accuracy, CeilingCheck, FitSettings } from '@undertone/classification';
import type { DatasetSpec } from '@undertone/datasets';
import type { BackendInfo } from '@undertone/engine';

/** What a fit may be measured on, where clean labelled records exist: in an experiment, never in a collection. */
export interface EvaluationRequest {
  /** Held-out labelled records. */
  dataset: DatasetSpec;
  /** The reporters' own records without any privacy: the roof is fitted on them. */
  roof?: DatasetSpec;
}

/** What the trainer of classifiers is asked. Plain data; the files lie in the work folder. */
export interface ClassifierTraining {
  name: string;
  task: string;
  artifact: string;
  files: { artifact: string; prior: string; payloads: string };
  settings: Partial<FitSettings>;
  seed: number;
  evaluation?: EvaluationRequest;
  dataRoots: readonly string[];
  engine: 'auto' | BackendInfo['name'];
}

/** An accuracy as a share of 1, with its 95 % interval. */
export interface MeasuredAccuracy {
  value: number;
  low: number;
  high: number;
  rows: number;
  /** The mean over classes of the share of right answers within each. */
  balanced: number;
}

export interface EvaluationMetrics {
  /** What it was measured on, in words. */
  dataset: string;
  cleanInput: MeasuredAccuracy;
  privateInput?: MeasuredAccuracy & { check: CeilingCheck };
  /** The most that any classifier of one such input can reach. */
  ceilingPrivateInput?: number;
  /** Clean-input accuracy of the same classifier fitted without privacy. */
  noPrivacy?: number;
  /** Accuracy without a single report: D1 has no labels, so that of always naming one class. */
  auxiliaryOnly: number;
}

export interface ClassifierMetrics {
  reports: number;
  /** Mean negative marginal log-likelihood at the end, up to a constant that depends on the reports alone. */
  loss: number;
  evaluation?: EvaluationMetrics;
}

/** What came of it, besides the file of the classifier. Plain data. */
export interface TrainedClassifier {
  metrics: ClassifierMetrics;
  settings: FitSettings;
  file: string;
}

export const measured = (accuracy: Accuracy): MeasuredAccuracy => ({
  value: accuracy.accuracy,
  low: accuracy.low,
  high: accuracy.high,
  rows: accuracy.rows,
  balanced: accuracy.balanced,
});
