import { type Job, type JobFailure, type JobProgress, type JobStatus } from './job';

/** A job as HTTP answers show it: JSON, with times in ISO 8601 (UTC). */
export interface JobDocument {
  id: string;
  kind: string;
  status: JobStatus;
  attempt: number;
  progress: JobProgress | null;
  result: unknown;
  error: JobFailure | null;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
}

export function jobDocument(job: Job): JobDocument {
  const { id, kind, status, attempt, progress, result, error, createdAt, startedAt, finishedAt } = job;
  return {
    id,
    kind,
    status,
    attempt,
    progress,
    result: result ?? null,
    error,
    createdAt: createdAt.toISOString(),
    startedAt: startedAt?.toISOString() ?? null,
    finishedAt: finishedAt?.toISOString() ?? null,
  };
}
