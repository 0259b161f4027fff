import { SeededRandom } from '@undertone/engine';
import { type VrlmSettings } from './vrlm-settings';

/**
 * ε of the noise at each training step, a pure function of seed and step. Begins at `annealFrom` and moves to its final
 * level on a straight line in ln ε, so that the encoder first finds many directions and is then pushed to separate them.
 */
export function trainingEpsilonAt(
  settings: VrlmSettings,
  step: number,
  totalSteps: number,
  seed: number,
): number {
  const { mode, trainingEpsilon, epsilonRange, annealFrom, annealFraction } = settings;
  const final =
    mode === 'fixed'
      ? Math.log(trainingEpsilon)
      : Math.log(epsilonRange.low) +
        new SeededRandom(seed, 'epsilon', step).uniform() * Math.log(epsilonRange.high / epsilonRange.low);
  const length = annealFraction * totalSteps;
  const done = step < length ? step / length : 1;
  return Math.exp((1 - done) * Math.log(annealFrom) + done * final);
}

/**
 * Standard Laplace variates −sgn(u) ln(1 − 2|u|) from uniform u on (−½, ½): RLM's reparametrisation. For training only:
 * the generator is seeded.
 */
export function fillStandardLaplace(out: Float32Array, random: SeededRandom): Float32Array {
  random.fillUniform(out, -0.5, 0.5);
  for (let i = 0; i < out.length; i++) out[i] = -Math.sign(out[i]) * Math.log(1 - 2 * Math.abs(out[i]));
  return out;
}
