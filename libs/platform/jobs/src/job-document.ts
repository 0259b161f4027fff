import { z } from 'zod';
import { type Job } from './job';

/** A job as HTTP answers show it. */
export const JobDocument = z.object({
  id: z.uuid(),
  kind: z.string(),
  status: z.enum(['queued', 'running', 'succeeded', 'failed', 'cancelled']),
  attempt: z.int().describe('How often a trainer was started for it.'),
  progress: z
    .object({
      stage: z.string(),
      done: z.number(),
      total: z.number(),
      figures: z.record(z.string(), z.number()).optional(),
    })
    .nullable()
    .describe('`done` of `total` units of one named stage.'),
  result: z.record(z.string(), z.unknown()).nullable().describe('What a succeeded job made.'),
  error: z
    .object({ code: z.string(), message: z.string() })
    .nullable()
    .describe('Why it failed; of a queued job: why its last attempt did.'),
  createdAt: z.iso.datetime(),
  startedAt: z.iso.datetime().nullable(),
  finishedAt: z.iso.datetime().nullable(),
});
export type JobDocument = z.infer<typeof JobDocument>;

export function jobDocument(job: Job): JobDocument {
  const { id, kind, status, attempt, progress, result, error, createdAt, startedAt, finishedAt } = job;
  return {
    id,
    kind,
    status,
    attempt,
    progress,
    result: (result ?? null) as JobDocument['result'],
    error,
    createdAt: createdAt.toISOString(),
    startedAt: startedAt?.toISOString() ?? null,
    finishedAt: finishedAt?.toISOString() ?? null,
  };
}
