export { DeterministicRandom } from './deterministic-random';
export { SmallJoint } from './small-joint';
