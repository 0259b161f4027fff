/** Boot or call with a job kind that the service doesn't have exactly one handler for. */
export class JobConfigurationError extends Error {
  readonly code = 'job-configuration';
  override name = 'JobConfigurationError';
}

/** No job of this service has the id. */
export class UnknownJobError extends Error {
  readonly code = 'unknown-job';
  override name = 'UnknownJobError';

  constructor(readonly id: string) {
    super(`There is no job ${id} here: list the jobs to see their ids.`);
  }
}

/** The job has already ended, so it can't be cancelled. */
export class FinishedJobError extends Error {
  readonly code = 'job-finished';
  override name = 'FinishedJobError';

  constructor(
    readonly id: string,
    readonly status: string,
  ) {
    super(`Job ${id} has already ${status}: only a queued or running job can be cancelled.`);
  }
}

/**
 * Thrown by a handler or a trainer when trying again can't help (a data file that is missing, too few reports):
 * the job fails at once with this code and message.
 */
export class JobError extends Error {
  override name = 'JobError';

  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
