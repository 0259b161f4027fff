import { type Logger } from 'pino';

/** What is told of a request that has ended. */
export interface EndedRequest {
  readonly method: string;
  /** As asked for; what follows a `?` is never written. */
  readonly url: string;
  /** `aborted` where the caller was gone before the whole answer was out. */
  readonly status: number | 'aborted';
  readonly durationMs: number;
  /** The caller's own, where its `x-correlation-id` is well-formed. */
  readonly correlationId: string;
}

const QUIET = ['/health/', '/metrics'];

/**
 * One line a request: method, path, status, time and correlation id. No address, query or body of anyone is written, and of the
 * headers only a well-formed `x-correlation-id`, as the caller chose it. Nothing is made for a line that isn't written.
 */
export class RequestLog {
  constructor(private readonly logger: Logger) {}

  write({ method, url, status, durationMs, correlationId }: EndedRequest): void {
    const level = typeof status === 'number' && status >= 500 ? 'error' : 'info';
    if (!this.logger.isLevelEnabled(level) || QUIET.some((start) => url.startsWith(start))) return;
    const query = url.indexOf('?');
    const path = query < 0 ? url : url.slice(0, query);
    this.logger[level]({ correlationId, durationMs }, `${method} ${path} ${status}`);
  }
}
