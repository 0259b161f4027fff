import { addEpsilons } from './epsilon';

/** What a part of the budget is spent on. */
export interface BudgetPart {
  readonly of: 'representation' | 'label' | 'pair';
  readonly epsilon: number;
}

/**
 * What a guarantee takes for granted.
 * - `idealised-real-arithmetic`: the proof is about real numbers and the code computes with floating point.
 * - `one-report-per-record`: a record is randomised once, and a retry sends the same bytes; n independent
 *   reports of one record cost n · ε.
 */
export type Assumption = 'idealised-real-arithmetic' | 'one-report-per-record';

/**
 * A guarantee in data, computed by the randomiser that gives it.
 *
 * Pure ε-LDP: for any two records r, r′ whatsoever (`any-two-records`) and any set S of reports,
 * P(report(r) ∈ S) ≤ e^ε · P(report(r′) ∈ S).
 * `parts` says where ε went; with `composition: 'basic'` their sum, rounded up, is ε.
 */
export interface Claim {
  readonly kind: 'pure-ldp';
  readonly epsilon: number;
  readonly delta: 0;
  readonly parts: readonly BudgetPart[];
  readonly neighbouring: 'any-two-records';
  readonly composition: 'none' | 'basic';
  readonly assumptions: readonly Assumption[];
}

/** Basic composition: the claim of sending both reports of one record, each with randomness of its own. */
export function composeClaims(a: Claim, b: Claim): Claim {
  const assumptions = [...new Set([...a.assumptions, ...b.assumptions])].sort();
  return freezeClaim({
    kind: 'pure-ldp',
    epsilon: addEpsilons(a.epsilon, b.epsilon),
    delta: 0,
    parts: [...a.parts, ...b.parts],
    neighbouring: 'any-two-records',
    composition: 'basic',
    assumptions,
  });
}

export function freezeClaim(claim: Claim): Claim {
  claim.parts.forEach(Object.freeze);
  Object.freeze(claim.parts);
  Object.freeze(claim.assumptions);
  return Object.freeze(claim);
}
