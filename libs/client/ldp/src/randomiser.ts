import type { Claim } from './claim/claim';
import type { FactorisedSpec } from './factorised/factorised';
import type { LabelSpec } from './k-ary-randomised-response/k-ary-randomised-response';
import type { RepresentationSpec } from './laplace-l1/laplace-l1';
import type { RandomSource } from './random/random-source';

/** The public parameters of a randomiser of the pair; plain data, as the artifact carries it. */
export type RandomiserSpec = FactorisedSpec;

/**
 * Randomises a representation z `[d]`. ε-LDP over any two representations: see `claim`.
 * A payload is `payloadBytes` opaque bytes.
 */
export interface RepresentationRandomiser {
  readonly spec: RepresentationSpec;
  readonly claim: Claim;
  readonly dimension: number;
  readonly payloadBytes: number;
  /** @throws LdpError `outside-domain` where z isn't a point that the claim covers. */
  randomise(z: ArrayLike<number>, random: RandomSource): Uint8Array;
  /** Why the randomiser can't have sent `payload` (names value and rule); `undefined` where it can. */
  fault(payload: Uint8Array): string | undefined;
  /** ln p(payload | z), up to no constant: normalised. @throws LdpError `impossible-payload` on a wrong length. */
  logLikelihood(payload: Uint8Array, z: ArrayLike<number>): number;
  /** `out[m]` = logLikelihood(payload, points[m]) for M points `[M, d]`, row-major. */
  logLikelihoods(payload: Uint8Array, points: ArrayLike<number>, out: Float64Array | Float32Array): void;
}

/** Randomises a label y, an integer in [0, K). ε-LDP over any two labels: see `claim`. */
export interface LabelRandomiser {
  readonly spec: LabelSpec;
  readonly claim: Claim;
  /** K. */
  readonly classes: number;
  readonly payloadBytes: number;
  /** @throws LdpError `outside-domain` where y isn't an integer in [0, K). */
  randomise(y: number, random: RandomSource): Uint8Array;
  /** Why the randomiser can't have sent `payload` (names value and rule); `undefined` where it can. */
  fault(payload: Uint8Array): string | undefined;
  /** ln P(payload | y). @throws LdpError `impossible-payload` on a payload with a `fault`. */
  logLikelihood(payload: Uint8Array, y: number): number;
}

/** The parts of a randomiser whose likelihood is p(z̃ | z) · P(ỹ | y): the paper's case. */
export interface Factors {
  readonly representation: RepresentationRandomiser;
  readonly label: LabelRandomiser;
  split(payload: Uint8Array): { representation: Uint8Array; label: Uint8Array };
}

/**
 * Randomises the pair (z, y): the one interface that wire, table, gateway and learning see. A payload is
 * `payloadBytes` opaque bytes; nothing outside may assume that it has a part for features and a part for the label.
 *
 * `claim` holds for any two pairs (z, y), (z′, y′), so for any two records under one public encoder.
 */
export interface Randomiser {
  readonly spec: RandomiserSpec;
  readonly claim: Claim;
  /** d, of the representation. */
  readonly dimension: number;
  /** K, of the label set. */
  readonly classes: number;
  readonly payloadBytes: number;
  /** @throws LdpError `outside-domain` where z or y isn't covered by the claim. */
  randomise(z: ArrayLike<number>, y: number, random: RandomSource): Uint8Array;
  /** fault(payload) === undefined. */
  isPossible(payload: Uint8Array): boolean;
  /** Why the randomiser can't have sent `payload` (names value and rule); `undefined` where it can. */
  fault(payload: Uint8Array): string | undefined;
  /** ln p(payload | z, y). @throws LdpError `impossible-payload` on a wrong length. */
  logLikelihood(payload: Uint8Array, z: ArrayLike<number>, y: number): number;
  /** `out[m · K + y]` = logLikelihood(payload, points[m], y) for M points `[M, d]`, row-major: RLM eq. 11's table. */
  logLikelihoods(payload: Uint8Array, points: ArrayLike<number>, out: Float64Array | Float32Array): void;
  /** Present where the likelihood is a product over representation and label. */
  readonly factors?: Factors;
  /** Randomises an unlabelled record, for private-input prediction; absent where the mechanism can't. */
  readonly input?: RepresentationRandomiser;
}
