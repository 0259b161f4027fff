export type { Assumption, BudgetPart, Claim } from './claim/claim';
export { addEpsilons, MAXIMUM_EPSILON, MINIMUM_EPSILON, splitBudget } from './claim/epsilon';
export { createRandomiser } from './create-randomiser';
export {
  createLabelRandomiser,
  createRepresentationRandomiser,
  Factorised,
  type FactorisedSpec,
} from './factorised/factorised';
export {
  KAryRandomisedResponse,
  type KAryRandomisedResponseSpec,
  type LabelSpec,
} from './k-ary-randomised-response/k-ary-randomised-response';
export { l1NormUpperBound, scaleIntoL1Ball } from './l1-ball/l1-ball';
export { LaplaceL1, type LaplaceL1Spec, type RepresentationSpec } from './laplace-l1/laplace-l1';
export { LdpError, type LdpErrorCode } from './ldp-error';
export type { RandomSource } from './random/random-source';
export { uniformBelow, uniformUnit } from './random/uniform';
export { WebCryptoRandom } from './random/web-crypto-random';
export type {
  Factors,
  LabelRandomiser,
  Randomiser,
  RandomiserSpec,
  RepresentationRandomiser,
} from './randomiser';
