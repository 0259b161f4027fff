import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import { type Artifact, InputError } from '@undertone/artifact';
import {
  type Classifier,
  evaluate,
  fitRoof,
  type FitSettings,
  floorWithoutReports,
  privatiseInputs,
} from '@undertone/classification';
import { type Dataset, type DatasetSpec, loadDataset } from '@undertone/datasets';
import { JobError, type TrainerContext } from '@undertone/jobs';
import { WebCryptoRandom } from '@undertone/ldp';
import { checkpointOf, withUsableCheckpoint } from './checkpoints';
import { type EvaluationMetrics, measured } from './classifier-training';

export interface ClassifierEvaluation {
  classifier: Classifier;
  artifact: Artifact;
  /** Held-out labelled records. */
  dataset: DatasetSpec;
  /** The reporters' own records, for the roof. */
  roof?: DatasetSpec;
  settings: FitSettings;
  seed: number;
  dataRoots: readonly string[];
}

const ROWS_A_TURN = 256;

/**
 * Accuracy on clean and on privatised held-out records (each privatised once, with cryptographic noise), between what
 * is possible without a report and without privacy.
 *
 * @throws PrivacyAlarm when privatised inputs are answered better than their ε allows
 */
export async function evaluateClassifier(
  evaluation: ClassifierEvaluation,
  context: TrainerContext,
): Promise<EvaluationMetrics> {
  const { classifier, artifact, dataset, dataRoots } = evaluation;
  const held = await encodeLabelled(
    loadDataset(dataset, { roots: dataRoots }),
    artifact,
    'encode held-out records',
    context,
  );
  const payloads = privatiseInputs(artifact.randomiser, held.codes, new WebCryptoRandom());
  const { clean, private: priv } = evaluate({ classifier, ...held, payloads });
  const floor = floorWithoutReports(held.labels, artifact.body.labels.length);
  return {
    dataset: held.name,
    cleanInput: measured(clean),
    ...(priv && {
      privateInput: { ...measured(priv), check: priv.check },
      ceilingPrivateInput: priv.check.ceiling,
    }),
    auxiliaryOnly: floor.accuracy,
    ...(evaluation.roof && { noPrivacy: await roof(evaluation, evaluation.roof, held, context) }),
  };
}

/** Clean-input accuracy of the same classifier fitted on the reporters' records without privacy. */
async function roof(
  { classifier, artifact, settings, seed, dataRoots }: ClassifierEvaluation,
  spec: DatasetSpec,
  held: LabelledCodes,
  context: TrainerContext,
): Promise<number> {
  const clean = await encodeLabelled(
    loadDataset(spec, { roots: dataRoots }),
    artifact,
    'encode clean records for the roof',
    context,
  );
  const checkpoint = checkpointOf(context, 'roof', clean.labels.length, settings);
  const fitted = await withUsableCheckpoint(checkpoint.path, () =>
    fitRoof({
      randomiser: artifact.randomiser,
      prior: classifier.prior,
      labels: artifact.body.labels,
      codes: clean.codes,
      truth: clean.labels,
      settings,
      seed,
      checkpoint,
      onProgress: ({ step, totalSteps, loss }) =>
        context.progress({ stage: 'fit the roof', done: step, total: totalSteps, figures: { loss } }),
      signal: context.signal,
    }),
  );
  return evaluate({ classifier: fitted, codes: held.codes, labels: held.labels }).clean.accuracy;
}

interface LabelledCodes {
  name: string;
  /** [n, d], row-major. */
  codes: Float64Array;
  /** [n]: indices into the artifact's labels. */
  labels: Uint32Array;
}

async function encodeLabelled(
  data: Dataset,
  artifact: Artifact,
  stage: string,
  { signal, progress }: TrainerContext,
): Promise<LabelledCodes> {
  const d = artifact.randomiser.dimension;
  const classOf = classesOf(data, artifact);
  const codes = new Float64Array(data.rows * d);
  const labels = new Uint32Array(data.rows);
  for (let i = 0; i < data.rows; i++) {
    if (i % ROWS_A_TURN === 0) {
      signal.throwIfAborted();
      progress({ stage, done: i, total: data.rows });
      await turnOfEventLoop();
    }
    codes.set(codeOf(data, i, artifact), i * d);
    labels[i] = classOf(data.label(i));
  }
  return { name: data.name, codes, labels };
}

/** z of a row. @throws JobError without the values of the row: its message goes into the job and the log. */
function codeOf(data: Dataset, row: number, artifact: Artifact): Float64Array {
  try {
    return artifact.encode(artifact.vectorise(data.raw(row)));
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    const detail = error.code === 'wrong-dimension' ? error.message : error.code;
    throw new JobError(
      'unfit-record',
      `${data.name}: row ${row} doesn't fit the mechanism's input schema (${detail})`,
    );
  }
}

/** The artifact's class of a label of the data set, by its name. */
function classesOf(data: Dataset, { body }: Artifact): (label: number) => number {
  const classes = data.labels.map((label) => body.labels.indexOf(label));
  return (label) => {
    if (classes[label] >= 0) return classes[label];
    throw new JobError(
      'unknown-label',
      `${data.name} has the label "${data.labels[label]}", which isn't one of the mechanism's: ${body.labels.join(', ')}`,
    );
  };
}
