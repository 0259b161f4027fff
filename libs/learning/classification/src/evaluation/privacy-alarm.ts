import { type Accuracy } from './accuracy';

/**
 * The most that any classifier of one ε-LDP report can reach on K balanced classes: e^ε / (e^ε + K − 1).
 *
 * Proof: with A_k the reports answered k and P_k their law for class k, P_j(A_k) ≥ e^−ε · P_k(A_k); sum over j ≠ k
 * and k, and the A_k are disjoint. It holds for mixtures of records as well, so also for a fixed test set.
 */
export function ceiling(epsilon: number, classes: number): number {
  return 1 / (1 + (classes - 1) * Math.exp(-epsilon));
}

/** The chance, at most, that an honest mechanism trips the alarm on one evaluation. */
export const FALSE_ALARM_PROBABILITY = 1e-6;

/**
 * How far a balanced accuracy measured on n rows may lie above its expectation by chance: exceeded with probability
 * at most `FALSE_ALARM_PROBABILITY`. Hoeffding's inequality over independent answers, each of range 1 / (K n_k).
 *
 * @param classRows rows of each class; empty classes don't count.
 */
export function chanceMargin(classRows: readonly number[]): number {
  const present = classRows.filter((n) => n > 0);
  const squares = present.reduce((sum, n) => sum + 1 / n, 0) / present.length ** 2;
  return Math.sqrt((-Math.log(FALSE_ALARM_PROBABILITY) / 2) * squares);
}

/** Private-input accuracy against what its ε allows. */
export interface CeilingCheck {
  /** ε of what the classifier saw of one record. */
  readonly epsilon: number;
  /** Classes present in the test rows. */
  readonly classes: number;
  readonly balancedAccuracy: number;
  readonly ceiling: number;
  /** Allowance for chance: see `chanceMargin`. */
  readonly margin: number;
  readonly bound: 'hoeffding';
  readonly falseAlarmProbability: number;
  readonly verdict: 'below-ceiling' | 'above-ceiling-by-chance' | 'broken';
}

export function checkCeiling(
  accuracy: Pick<Accuracy, 'balanced' | 'classRows'>,
  epsilon: number,
): CeilingCheck {
  const classes = accuracy.classRows.filter((n) => n > 0).length;
  const top = ceiling(epsilon, classes);
  const margin = chanceMargin(accuracy.classRows);
  const verdict =
    accuracy.balanced <= top
      ? 'below-ceiling'
      : accuracy.balanced <= top + margin
        ? 'above-ceiling-by-chance'
        : 'broken';
  return {
    epsilon,
    classes,
    balancedAccuracy: accuracy.balanced,
    ceiling: top,
    margin,
    bound: 'hoeffding',
    falseAlarmProbability: FALSE_ALARM_PROBABILITY,
    verdict,
  };
}

/**
 * Raised when a classifier answers privatised inputs better than ε-LDP allows: the mechanism, the accounting or the
 * evaluation is broken, and nothing made with it may be trusted.
 */
export class PrivacyAlarm extends Error {
  override readonly name = 'PrivacyAlarm';
  readonly code = 'privacy-alarm';

  constructor(readonly check: CeilingCheck) {
    const percent = (v: number): string => `${(100 * v).toFixed(2)} %`;
    super(
      `private-input accuracy ${percent(check.balancedAccuracy)} (balanced over ${check.classes} classes) is above ` +
        `${percent(check.ceiling)}, the most that one ε = ${check.epsilon} report allows, by more than the ` +
        `${percent(check.margin)} that chance explains (Hoeffding, error probability ${check.falseAlarmProbability}). ` +
        'Less noise was added than claimed, a record was reported more than once, or clean inputs were scored as private: ' +
        'stop, and trust nothing from this mechanism until the cause is known',
    );
  }
}

/** @throws PrivacyAlarm when chance doesn't explain how far the accuracy lies above its ceiling. */
export function assertBelowCeiling(
  accuracy: Pick<Accuracy, 'balanced' | 'classRows'>,
  epsilon: number,
): CeilingCheck {
  const check = checkCeiling(accuracy, epsilon);
  if (check.verdict === 'broken') throw new PrivacyAlarm(check);
  return check;
}
