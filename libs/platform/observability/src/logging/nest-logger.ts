import { type LoggerService } from '@nestjs/common';
import { type Level, type Logger } from 'pino';

/** What Nest and its `Logger`s say, as lines of the service's own log; their context is a field. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...more: unknown[]): void {
    this.write('info', message, more);
  }
  fatal(message: unknown, ...more: unknown[]): void {
    this.write('fatal', message, more);
  }
  error(message: unknown, ...more: unknown[]): void {
    this.write('error', message, more);
  }
  warn(message: unknown, ...more: unknown[]): void {
    this.write('warn', message, more);
  }
  debug(message: unknown, ...more: unknown[]): void {
    this.write('debug', message, more);
  }
  verbose(message: unknown, ...more: unknown[]): void {
    this.write('trace', message, more);
  }

  /**
   * Nest adds the context last. Where the first argument is an object or an error, the second one is the message; where an error's
   * text came first, the second one may be its stack.
   */
  private write(level: Level, first: unknown, more: readonly unknown[]): void {
    if (!this.logger.isLevelEnabled(level)) return;
    const context = more.length > 0 ? { context: more[more.length - 1] } : {};
    const second = more.length > 1 ? more[0] : undefined;
    if (typeof first === 'object' && first !== null) {
      const fields = first instanceof Error ? { err: first } : first;
      this.logger[level]({ ...context, ...fields }, typeof second === 'string' ? second : undefined);
    } else {
      const stack = typeof second === 'string' && level === 'error' ? { stack: second } : {};
      this.logger[level]({ ...context, ...stack }, String(first));
    }
  }
}
