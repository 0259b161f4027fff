import { type Job, type JobFailure } from './job';

/** What happens to jobs, for logs and metrics. */
export type JobEvent =
  | { type: 'started'; job: Job; pid: number | undefined }
  | { type: 'succeeded' | 'cancelled'; job: Job }
  /** Put back into the queue because the service stops. */
  | { type: 'released'; job: Job }
  /** Another process has taken it over, or will. */
  | { type: 'lost'; job: Job }
  | { type: 'retried' | 'failed'; job: Job; failure: JobFailure }
  /** A line that the trainer wrote. */
  | { type: 'output'; job: Job; line: string }
  /** The queue or the database failed for a moment; it is tried again. */
  | { type: 'fault'; error: unknown };
