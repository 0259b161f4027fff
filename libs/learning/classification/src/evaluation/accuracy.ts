import { ClassificationError } from '../classification-error';

/** A share of right answers, with an interval that holds the true share with the confidence stated. */
export interface Accuracy {
  readonly rows: number;
  readonly correct: number;
  /** correct / rows. */
  readonly accuracy: number;
  readonly low: number;
  readonly high: number;
  readonly confidence: 0.95;
  /** The mean over the classes present of the share of right answers within each class. */
  readonly balanced: number;
  /** [K]: rows of each class. */
  readonly classRows: readonly number[];
}

const Z95 = 1.959963984540054;

/**
 * Wilson's score interval for a binomial share, 95 %. Stays within [0, 1] and is sound near 0 and 1.
 *
 * @param correct from 0 to `rows`; `rows` at least 1.
 */
export function wilsonInterval(correct: number, rows: number): { low: number; high: number } {
  const share = correct / rows;
  const z2 = (Z95 * Z95) / rows;
  const centre = (share + z2 / 2) / (1 + z2);
  const half = (Z95 * Math.sqrt((share * (1 - share)) / rows + z2 / (4 * rows))) / (1 + z2);
  return {
    low: correct === 0 ? 0 : Math.max(0, centre - half),
    high: correct === rows ? 1 : Math.min(1, centre + half),
  };
}

export interface Answers {
  predicted: ArrayLike<number>;
  truth: ArrayLike<number>;
  classes: number;
}

/** @throws ClassificationError `invalid-input` on no rows, unequal lengths or a label outside 0..K−1. */
export function measureAccuracy({ predicted, truth, classes }: Answers): Accuracy {
  const rows = truth.length;
  if (rows === 0 || predicted.length !== rows) {
    throw new ClassificationError(
      'invalid-input',
      `accuracy of ${predicted.length} answers to ${rows} questions: need as many of both, at least one`,
    );
  }
  const classRows = new Array<number>(classes).fill(0);
  const classCorrect = new Array<number>(classes).fill(0);
  for (let i = 0; i < rows; i++) {
    requireLabel(truth[i], classes, i);
    classRows[truth[i]]++;
    if (predicted[i] === truth[i]) classCorrect[truth[i]]++;
  }
  const present = classRows.flatMap((n, k) => (n > 0 ? [classCorrect[k] / n] : []));
  const correct = classCorrect.reduce((a, b) => a + b, 0);
  return {
    rows,
    correct,
    accuracy: correct / rows,
    ...wilsonInterval(correct, rows),
    confidence: 0.95,
    balanced: present.reduce((a, b) => a + b, 0) / present.length,
    classRows,
  };
}

export function requireLabel(label: number, classes: number, row: number): void {
  if (!Number.isInteger(label) || label < 0 || label >= classes) {
    throw new ClassificationError(
      'invalid-input',
      `label of row ${row} is ${label}: it must be a whole number from 0 to ${classes - 1}`,
    );
  }
}
