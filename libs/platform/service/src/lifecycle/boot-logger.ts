import { type LoggerService, type LogLevel } from '@nestjs/common';

/** Nest tells of every module and route when it starts; that is in the API's description already. */
const BOOT_CONTEXTS = new Set([
  'InstanceLoader',
  'NestFactory',
  'NestMicroservice',
  'RouterExplorer',
  'RoutesResolver',
]);

/** Passes on all but the ordinary lines of Nest's own start. */
export class BootLogger implements LoggerService {
  constructor(private readonly logger: LoggerService) {}

  log(message: unknown, ...more: unknown[]): void {
    if (!BOOT_CONTEXTS.has(String(more.at(-1)))) this.logger.log(message, ...more);
  }
  fatal(message: unknown, ...more: unknown[]): void {
    this.logger.fatal?.(message, ...more);
  }
  error(message: unknown, ...more: unknown[]): void {
    this.logger.error(message, ...more);
  }
  warn(message: unknown, ...more: unknown[]): void {
    this.logger.warn(message, ...more);
  }
  debug(message: unknown, ...more: unknown[]): void {
    this.logger.debug?.(message, ...more);
  }
  verbose(message: unknown, ...more: unknown[]): void {
    this.logger.verbose?.(message, ...more);
  }
  setLogLevels(levels: LogLevel[]): void {
    this.logger.setLogLevels?.(levels);
  }
}
