import { InputError, type RawRecord } from '@undertone/artifact';
import { ClassificationError, mostLikely } from '@undertone/classification';
import { type LoadedClassifier } from './loaded-classifiers';

export interface Prediction {
  label: string;
  /** In the order of the classifier's labels; they sum to 1. */
  probabilities: number[];
}

/** An input that no answer can be given for; the message names which one, its field and the rule. */
export class UnreadableInputError extends Error {
  readonly code = 'unreadable-input';
  override name = 'UnreadableInputError';

  constructor(
    readonly field: string,
    readonly reason: string,
  ) {
    super(`${field}: ${reason}`);
  }
}

/** p(y | x) of clean records: vectorised and encoded as a device would, but not privatised. */
export function predictClean(
  { classifier, artifact }: LoadedClassifier,
  records: readonly RawRecord[],
): Prediction[] {
  return records.map((record, i) => {
    try {
      return answer(classifier.labels, classifier.clean(artifact.encode(artifact.vectorise(record))));
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      throw new UnreadableInputError(`records[${i}]`, error.message);
    }
  });
}

/** p(y | z̃) of privatised records: payloads of the mechanism's randomiser for unlabelled records. */
export function predictPrivate(
  { classifier }: LoadedClassifier,
  payloads: readonly Uint8Array[],
): Prediction[] {
  return payloads.map((payload, i) => {
    try {
      return answer(classifier.labels, classifier.private(payload));
    } catch (error) {
      if (!(error instanceof ClassificationError)) throw error;
      throw new UnreadableInputError(`payloads[${i}]`, error.message);
    }
  });
}

const answer = (labels: readonly string[], probabilities: Float64Array): Prediction => ({
  label: labels[mostLikely(probabilities)],
  probabilities: Array.from(probabilities),
});
