export type JobStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';

/** How far a job is: `done` of `total` units of one named stage. */
export interface JobProgress {
  stage: string;
  done: number;
  total: number;
  /** Figures worth showing while the stage runs, such as a loss. */
  figures?: Record<string, number>;
}

/** Why a job failed: a stable code for programs and a sentence for people. */
export interface JobFailure {
  code: string;
  message: string;
}

/** A training job, as its row tells it. */
export interface Job {
  id: string;
  kind: string;
  status: JobStatus;
  /** Plain data, as it was asked for. */
  request: unknown;
  progress: JobProgress | null;
  /** How often a trainer was started for it; a graceful stop of the service isn't counted. */
  attempt: number;
  error: JobFailure | null;
  /** Plain data, once it has succeeded. */
  result: unknown;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
}
