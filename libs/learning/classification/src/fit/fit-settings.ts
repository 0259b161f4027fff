import { ClassificationError } from '../classification-error';

/** Hyper-parameters of the classifier. Chosen on D1 or in advance, never with sight of a clean record of D2. */
export interface FitSettings {
  /** Widths of the hidden layers of p_ψ(y | z). */
  hidden: readonly number[];
  epochs: number;
  batch: number;
  /** Top of the one-cycle learning rate. */
  peakLearningRate: number;
  warmUpFraction: number;
}

export const DEFAULT_FIT_SETTINGS: Readonly<FitSettings> = {
  hidden: [64, 64],
  epochs: 8,
  batch: 256,
  peakLearningRate: 1e-2,
  warmUpFraction: 0.2,
};

/** The settings with defaults filled in. @throws ClassificationError `invalid-input`. */
export function fitSettings(given: Partial<FitSettings> = {}): FitSettings {
  const settings = { ...DEFAULT_FIT_SETTINGS, ...given };
  const whole = (value: number): boolean => Number.isInteger(value) && value >= 1;
  const rules: [keyof FitSettings, boolean, string][] = [
    ['hidden', settings.hidden.every(whole), 'whole numbers from 1'],
    ['epochs', whole(settings.epochs), 'a whole number from 1'],
    ['batch', whole(settings.batch), 'a whole number from 1'],
    [
      'peakLearningRate',
      settings.peakLearningRate > 0 && settings.peakLearningRate < Infinity,
      'above 0 and finite',
    ],
    ['warmUpFraction', settings.warmUpFraction >= 0 && settings.warmUpFraction <= 1, 'from 0 to 1'],
  ];
  const broken = rules.find(([, holds]) => !holds);
  if (broken) {
    const [name, , rule] = broken;
    throw new ClassificationError(
      'invalid-input',
      `${name} is ${String(settings[name])}: it must be ${rule}`,
    );
  }
  return settings;
}
