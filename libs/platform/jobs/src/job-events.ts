import { type Job, type JobFailure } from './job';

/** What happens to jobs, for logs and metrics. */
export type JobEvent =
  | { type: 'started'; job: Job; pid: number | undefined }
  | { type: 'succeeded' | 'cancelled'; job: Job }
  /** Put back into the queue because the service stops. */
  | { type: 'released'; job: Job }
  /** Another process has taken it over, or will. */
  | { type: 'lost'; job: Job }
  /** `lastLines`: what its trainer wrote at the end. */
  | { type: 'retried' | 'failed'; job: Job; failure: JobFailure; lastLines: readonly string[] }
  /** A line that the trainer wrote. */
  | { type: 'output'; job: Job; line: string }
  /** The queue or the database failed for a moment; it is tried again. */
  | { type: 'fault'; error: unknown };

/** An event as a line of a log. */
export interface JobLogLine {
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  fields: Record<string, unknown>;
}

const LEVELS: Record<JobEvent['type'], JobLogLine['level']> = {
  started: 'info',
  succeeded: 'info',
  cancelled: 'info',
  released: 'info',
  lost: 'warn',
  retried: 'warn',
  failed: 'error',
  output: 'debug',
  fault: 'error',
};

/** Names job, kind and attempt; nothing of what the job was asked. */
export function jobLogLine(event: JobEvent): JobLogLine {
  const level = LEVELS[event.type];
  if (event.type === 'fault') {
    return { level, message: 'the job queue failed for a moment', fields: { err: event.error } };
  }
  const { id, kind, attempt } = event.job;
  const fields = { job: id, kind, attempt };
  switch (event.type) {
    case 'started':
      return { level, message: `job ${id} started`, fields: { ...fields, pid: event.pid } };
    case 'output':
      return { level, message: event.line, fields };
    case 'retried':
    case 'failed':
      return {
        level,
        message: `job ${id} ${event.type}: ${event.failure.message}`,
        fields: { ...fields, code: event.failure.code, lastLines: event.lastLines },
      };
    default:
      return { level, message: `job ${id} ${event.type}`, fields };
  }
}
