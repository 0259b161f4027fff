import { MAXIMUM_EPSILON, MINIMUM_EPSILON, splitBudget } from '@undertone/ldp';
import { DatasetSpec } from '@undertone/datasets';
import { DEFAULT_VRLM_SETTINGS } from '@undertone/representation';
import { z } from 'zod';

/** Most labels that k-ary randomised response takes in two bytes. */
const MAXIMUM_LABELS = 65_536;
const DEFAULT_PROTOTYPES = 500;

const Width = z.int().min(1).max(65_536);
const Epsilon = z.number().positive().max(MAXIMUM_EPSILON);

const Settings = z
  .strictObject({
    latent: z.int().min(1).max(1_024),
    hidden: z.array(Width).max(8),
    epochs: z.int().min(1).max(100_000),
    batch: z.int().min(1).max(65_536),
    peakLearningRate: z.number().positive().max(1),
    mode: z.enum(['fixed', 'conditioned']),
    trainingEpsilon: Epsilon,
    epsilonRange: z
      .strictObject({ low: Epsilon, high: Epsilon })
      .refine(({ low, high }) => low <= high, { error: 'low is above high' }),
    annealFrom: Epsilon,
    annealFraction: z.number().min(0).max(1),
  })
  .partial();

/**
 * Asks for a mechanism. The claim isn't part of it: the randomiser computes that from `epsilon` and `lambda`. What
 * protects D1 must be said, since the artifact states it: so far nothing does, so D1 has to be public.
 */
export const MechanismRequest = z
  .strictObject({
    name: z.string().trim().min(1).max(100).describe('Of the mechanism; it goes into the artifact.'),
    dataset: DatasetSpec.describe('D1, the auxiliary set. Its labels are never read.'),
    d1: z
      .literal('public', {
        error:
          'say "public": the published encoder is a function of D1 without protection, so D1 must be such that anybody may see it',
      })
      .describe('How the people in D1 are protected: "public" says that they need no protection.'),
    labels: z
      .array(z.string().min(1).max(200))
      .min(2)
      .max(MAXIMUM_LABELS)
      .refine((labels) => new Set(labels).size === labels.length, { error: 'names a label twice' })
      .optional()
      .describe("The label set of reports; the data set's own where it's left out."),
    epsilon: z
      .number()
      .min(MINIMUM_EPSILON)
      .max(MAXIMUM_EPSILON)
      .describe('ε of a whole report, features and label.'),
    lambda: z.number().gt(0).lt(1).default(0.5).describe('Share of ε for the features.'),
    prototypes: z
      .int()
      .min(1)
      .max(100_000)
      .default(DEFAULT_PROTOTYPES)
      .describe("Weighted prototypes that D1's codes are compressed to."),
    settings: Settings.default({}).describe(
      'Hyper-parameters of the V-RLM; what is left out has its default.',
    ),
    seed: z.int().nonnegative().default(0),
  })
  .superRefine(({ epsilon, lambda, settings }, context) => {
    if (!(epsilon > 0 && lambda > 0 && lambda < 1)) return;
    try {
      const { representation } = splitBudget(epsilon, lambda);
      const { mode, epsilonRange } = { ...DEFAULT_VRLM_SETTINGS, ...settings };
      if (mode === 'fixed' || (epsilonRange.low <= representation && representation <= epsilonRange.high))
        return;
      context.addIssue({
        code: 'custom',
        path: ['settings', 'epsilonRange'],
        message: `is ${epsilonRange.low} to ${epsilonRange.high}: a conditioned encoder must be trained for ${representation}, the share of ε that reports spend on features`,
      });
    } catch (error) {
      context.addIssue({ code: 'custom', path: ['lambda'], message: (error as Error).message });
    }
  });
export type MechanismRequest = z.infer<typeof MechanismRequest>;
