import { addUp, nextDown } from '../exact/directed-rounding';
import { LdpError } from '../ldp-error';

/** Below this, 53-bit thresholds can't keep an ε to many digits, and no report says anything. */
export const MINIMUM_EPSILON = 1e-6;
/** Above this there is no privacy to speak of; it bounds the integers of the exact thresholds. */
export const MAXIMUM_EPSILON = 1000;

/** @throws LdpError `invalid-parameter` unless MINIMUM_EPSILON ≤ epsilon ≤ MAXIMUM_EPSILON. */
export function requireEpsilon(epsilon: number, of: string): number {
  if (typeof epsilon !== 'number' || !(epsilon >= MINIMUM_EPSILON && epsilon <= MAXIMUM_EPSILON)) {
    throw new LdpError(
      'invalid-parameter',
      `ε of the ${of} is ${epsilon}: it must be a number from ${MINIMUM_EPSILON} to ${MAXIMUM_EPSILON}`,
    );
  }
  return epsilon;
}

/** a + b, rounded up to the next double when inexact: an ε is never rounded down. */
export function addEpsilons(a: number, b: number): number {
  if (!(a >= 0 && b >= 0 && Number.isFinite(a + b))) {
    throw new LdpError('invalid-parameter', `ε ${a} and ε ${b}: each must be finite and not negative`);
  }
  return addUp(a, b);
}

/**
 * ε = ε_representation + ε_label with ε_representation ≈ λε: the parts never add up to more than `epsilon`,
 * also after the rounding of `addEpsilons`.
 *
 * @param lambda share of the representation, strictly between 0 and 1.
 * @throws LdpError `invalid-parameter` where λ is outside (0, 1) or leaves a part below MINIMUM_EPSILON.
 */
export function splitBudget(epsilon: number, lambda: number): { representation: number; label: number } {
  requireEpsilon(epsilon, 'whole report');
  if (!(lambda > 0 && lambda < 1)) {
    throw new LdpError('invalid-parameter', `λ is ${lambda}: it must lie strictly between 0 and 1`);
  }
  const representation = requireEpsilon(epsilon * lambda, 'representation');
  let label = requireEpsilon(epsilon - representation, 'label');
  while (addEpsilons(representation, label) > epsilon) label = nextDown(label);
  return { representation, label };
}
