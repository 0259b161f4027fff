import { isNativeError } from 'node:util/types';
import { describeError, type Logger } from '@undertone/observability';
import { type Problem } from './problem';

const QUIET_MS = 10_000;
/** Told apart at one time. */
const MAXIMUM_REASONS = 100;
const OTHER_REASONS = 'other';

interface Failure {
  readonly problem: Problem;
  readonly correlationId: string;
  readonly what: string;
}

/**
 * Lines about failures, each with the error's stack and causes. While something is away, hundreds of requests a second are answered
 * `unavailable` for the same reason: a line is written of the first of these, and then every ten seconds of the last one, with the
 * number of those left out.
 */
export class ProblemLog {
  private readonly quiet = new Map<string, { leftOut: number; last?: Failure }>();

  constructor(private readonly logger: Pick<Logger, 'error'>) {}

  write(failure: Failure): void {
    if (failure.problem.kind !== 'unavailable') return this.writeNow(failure);
    const reason = this.reasonOf(failure.problem);
    const quiet = this.quiet.get(reason);
    if (quiet === undefined) {
      this.writeNow(failure);
      this.keepQuiet(reason);
    } else {
      if (quiet.last !== undefined) quiet.leftOut += 1;
      quiet.last = failure;
    }
  }

  private keepQuiet(reason: string): void {
    const quiet: { leftOut: number; last?: Failure } = { leftOut: 0 };
    this.quiet.set(reason, quiet);
    setTimeout(() => {
      this.quiet.delete(reason);
      if (quiet.last === undefined) return;
      this.writeNow(quiet.last, { leftOut: quiet.leftOut });
      this.keepQuiet(reason);
    }, QUIET_MS).unref();
  }

  /** Numbers tell how many or where, not why. */
  private reasonOf({ detail, cause }: Problem): string {
    const { name = '', code = '' } = isNativeError(cause) ? (cause as NodeJS.ErrnoException) : {};
    const reason = `${detail} ${name} ${code}`.replace(/\d+/g, '0');
    return this.quiet.has(reason) || this.quiet.size < MAXIMUM_REASONS ? reason : OTHER_REASONS;
  }

  private writeNow({ problem, correlationId, what }: Failure, more: { leftOut?: number } = {}): void {
    const error = describeError(isNativeError(problem.cause) ? problem.cause : problem);
    this.logger.error({ correlationId, ...more, error }, `${what}: ${error.message}`);
  }
}
