import { FinishedJobError, UnknownJobError } from '@undertone/jobs';
import { Problem } from '@undertone/service';

/** Has errors of the job runner answered as problems. */
export async function withJobProblems<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof UnknownJobError) throw new Problem('unknown-job', error.message);
    if (error instanceof FinishedJobError) throw new Problem('conflict', error.message);
    throw error;
  }
}
