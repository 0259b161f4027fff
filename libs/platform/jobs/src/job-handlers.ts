import { type Job } from './job';
import { JobConfigurationError } from './job-errors';
import { type Sql } from '@undertone/store';

/** What a handler may use of the job that it serves. */
export interface JobContext {
  job: Job;
  /** Absolute path of the job's work folder: it outlives attempts and goes once the job has succeeded. */
  folder: string;
}

/** A job's ending: what its row shows as `result`, and what is stored together with it. */
export interface JobCompletion {
  result: unknown;
  /** Runs inside the transaction that marks the job as succeeded: either both are kept or neither. */
  store(transaction: Sql): Promise<void>;
}

/** Serves one kind of job. `Request` and `Result` are plain data: they cross a process boundary. */
export interface JobHandler<Request = unknown, Result = unknown> {
  readonly kind: string;
  /** The trainer's script, as an absolute path: a built file that calls `runTrainer`. */
  readonly script: string;
  /** Variables that the trainer gets beyond the few that every program needs. */
  readonly environment?: Record<string, string>;
  /** Arguments for Node itself. */
  readonly execArgv?: string[];
  /** Puts what the trainer needs into the work folder and says what it is asked; runs on every attempt. */
  prepare(context: JobContext): Promise<Request>;
  /** Turns the trainer's result into what is stored; may run again after a crash, so it must be repeatable. */
  complete(result: Result, context: JobContext): Promise<JobCompletion>;
}

/** The handlers of a service by kind. Throws {@link JobConfigurationError} unless each kind has exactly one. */
export function handlersByKind(
  kinds: readonly string[],
  handlers: readonly JobHandler<unknown, never>[],
): Map<string, JobHandler> {
  const byKind = new Map<string, JobHandler>();
  const faults: string[] = [];
  for (const handler of handlers) {
    if (!kinds.includes(handler.kind))
      faults.push(`a handler serves "${handler.kind}", which isn't a job kind`);
    if (byKind.has(handler.kind)) faults.push(`job kind "${handler.kind}" has more than one handler`);
    byKind.set(handler.kind, handler as unknown as JobHandler);
  }
  for (const kind of kinds) if (!byKind.has(kind)) faults.push(`job kind "${kind}" has no handler`);
  if (faults.length > 0) {
    throw new JobConfigurationError(
      `Each job kind needs exactly one handler: ${[...new Set(faults)].join('; ')}.`,
    );
  }
  return byKind;
}
