import { type AdamSettings, adamDefaults } from './step-definition';

/** The numbers of one Adam step that depend on its index, in double precision. */
export interface AdamCoefficients {
  beta1: number;
  beta2: number;
  /** β₁ᵗ and β₂ᵗ for step t = 1, 2, … */
  beta1Power: number;
  beta2Power: number;
  /**
   * The ε of the form θ −= α·√(1−β₂ᵗ)/(1−β₁ᵗ) · m/(√v + ε̂), in which TensorFlow's operation computes: ε·√(1−β₂ᵗ), so
   * that ε is added to √(v̂) as in Kingma and Ba's algorithm 1 and in PyTorch.
   */
  epsilonHat: number;
}

/** @param step index of the step about to be taken, from 1 */
export function adamCoefficients(settings: AdamSettings, step: number): AdamCoefficients {
  const { beta1, beta2, epsilon } = adamDefaults(settings);
  const beta2Power = beta2 ** step;
  return {
    beta1,
    beta2,
    beta1Power: beta1 ** step,
    beta2Power,
    epsilonHat: epsilon * Math.sqrt(1 - beta2Power),
  };
}
