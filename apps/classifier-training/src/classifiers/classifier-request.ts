import { DatasetSpec } from '@undertone/datasets';
import { TaskName } from '@undertone/protocol';
import { z } from 'zod';

const Settings = z
  .strictObject({
    hidden: z.array(z.int().min(1).max(65_536)).max(8),
    epochs: z.int().min(1).max(100_000),
    batch: z.int().min(1).max(65_536),
    peakLearningRate: z.number().positive().max(1),
    warmUpFraction: z.number().min(0).max(1),
  })
  .partial();

/** Asks for a classifier fitted on a task's reports. */
export const ClassifierRequest = z.strictObject({
  name: z.string().trim().min(1).max(100),
  task: TaskName.describe('Whose reports it is fitted on: those stored when the job was asked for.'),
  settings: Settings.default({}).describe('Hyper-parameters; what is left out has its default.'),
  seed: z.int().nonnegative().default(0),
  evaluation: z
    .strictObject({
      dataset: DatasetSpec.describe('Clean labelled records that nobody reported.'),
      roof: DatasetSpec.optional().describe(
        "The reporters' own clean records, where an experiment has them: what could be reached without privacy.",
      ),
    })
    .optional()
    .describe('Measures the classifier on clean records. For experiments: a collection has none.'),
});
export type ClassifierRequest = z.infer<typeof ClassifierRequest>;
