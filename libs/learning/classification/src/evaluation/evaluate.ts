import { type Randomiser, type RandomSource } from '@undertone/ldp';
import { ClassificationError } from '../classification-error';
import { type Classifier } from '../classifier/classifier';
import { mostLikely } from '../classifier/softmax';
import { measureAccuracy, type Accuracy } from './accuracy';
import { assertBelowCeiling, type CeilingCheck } from './privacy-alarm';

export interface EvaluationRequest {
  classifier: Classifier;
  /** Representations of held-out records [n, d], row-major. */
  codes: Float32Array | Float64Array;
  /** [n]: their true classes. */
  labels: ArrayLike<number>;
  /** [n]: the same records, privatised by the mechanism's `input`: see `privatiseInputs`. */
  payloads?: readonly Uint8Array[];
}

export interface Evaluation {
  /** On clean inputs. */
  clean: Accuracy;
  /** On privatised inputs, with what their ε allows. */
  private?: Accuracy & { check: CeilingCheck };
}

/** One privatised input a representation; `undefined` where the mechanism can't randomise an unlabelled record. */
export function privatiseInputs(
  randomiser: Randomiser,
  codes: Float32Array | Float64Array,
  random: RandomSource,
): Uint8Array[] | undefined {
  const { input, dimension: d } = randomiser;
  if (!input) return undefined;
  return Array.from({ length: codes.length / d }, (_, i) =>
    input.randomise(codes.subarray(i * d, (i + 1) * d), random),
  );
}

/**
 * Held-out accuracy on clean and on privatised inputs.
 *
 * @throws PrivacyAlarm when the balanced accuracy on privatised inputs is above its ceiling by more than chance explains.
 * @throws ClassificationError `invalid-input` on shapes that don't fit.
 */
export function evaluate({ classifier, codes, labels, payloads }: EvaluationRequest): Evaluation {
  const d = classifier.dimension;
  const rows = labels.length;
  if (codes.length !== rows * d || (payloads && payloads.length !== rows)) {
    throw new ClassificationError(
      'invalid-input',
      `${rows} labels with ${codes.length} numbers of representations (dimension ${d})` +
        `${payloads ? ` and ${payloads.length} privatised inputs` : ''}: one of each a record is needed`,
    );
  }
  const classes = classifier.labels.length;
  const accuracyOf = (answer: (row: number) => ArrayLike<number>): Accuracy =>
    measureAccuracy({
      predicted: Uint32Array.from({ length: rows }, (_, i) => mostLikely(answer(i))),
      truth: labels,
      classes,
    });
  const clean = accuracyOf((i) => classifier.clean(codes.subarray(i * d, (i + 1) * d)));
  const { input } = classifier.randomiser;
  if (!payloads || !input) return { clean };
  const accuracy = accuracyOf((i) => classifier.private(payloads[i]));
  return { clean, private: { ...accuracy, check: assertBelowCeiling(accuracy, input.claim.epsilon) } };
}

/**
 * Accuracy without a single report. D1 has no labels, so the best that D1 alone offers is to name one class always.
 */
export function floorWithoutReports(
  labels: ArrayLike<number>,
  classes: number,
): { balanced: number; accuracy: number } {
  const rows = new Array<number>(classes).fill(0);
  for (let i = 0; i < labels.length; i++) rows[labels[i]]++;
  return { balanced: 1 / rows.filter((n) => n > 0).length, accuracy: Math.max(...rows) / labels.length };
}
