import { ArtifactId, TaskName } from '@undertone/protocol';
import { type ClassifierSummary } from '@undertone/store';
import { z } from 'zod';

const Plain = z.record(z.string(), z.unknown());

const Measured = z.object({
  value: z.number().describe('Share of right answers.'),
  low: z.number(),
  high: z.number().describe('`low` to `high`: Wilson interval, 95 %.'),
  rows: z.int(),
  balanced: z.number().describe('Mean over classes of the share of right answers within each.'),
});

const Metrics = z.object({
  reports: z.int(),
  loss: z.number(),
  evaluation: z
    .object({
      dataset: z.string(),
      cleanInput: Measured,
      privateInput: Measured.extend({ check: Plain }).optional(),
      ceilingPrivateInput: z
        .number()
        .optional()
        .describe('The most that any classifier of one privatised input can reach.'),
      noPrivacy: z.number().optional().describe('Of the same classifier fitted on clean records: the roof.'),
      auxiliaryOnly: z.number().describe('Without a report: the floor.'),
    })
    .optional()
    .describe('There where it was measured on held-out records.'),
});

/** A fitted classifier with where it comes from. */
export const ClassifierDocument = z.object({
  id: z.string().describe('SHA-256 of its file, hex.'),
  name: z.string(),
  task: TaskName,
  artifact: ArtifactId,
  objective: z.string(),
  settings: Plain,
  seed: z.number(),
  engine: z.object({ name: z.string(), library: z.string() }),
  metrics: Metrics,
  lineage: Plain,
  job: z.string().nullable(),
  createdAt: z.iso.datetime(),
});
export type ClassifierDocument = z.infer<typeof ClassifierDocument>;

export function classifierDocument(found: ClassifierSummary): ClassifierDocument {
  const { id, name, task, artifact, objective, settings, metrics, jobId, createdAt } = found;
  const lineage = found.lineage as Pick<ClassifierDocument, 'seed' | 'engine'>;
  return {
    id,
    name,
    task,
    artifact,
    objective,
    settings: settings as Record<string, unknown>,
    seed: lineage.seed,
    engine: lineage.engine,
    metrics: metrics as ClassifierDocument['metrics'],
    lineage,
    job: jobId,
    createdAt: createdAt.toISOString(),
  };
}
