export { DeterministicRandom } from './deterministic-random';
export { ScriptedRandom } from './scripted-random';
export { SmallJoint } from './small-joint';
