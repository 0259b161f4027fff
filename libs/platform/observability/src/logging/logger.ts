import { isNativeError } from 'node:util/types';
import {
  destination as fileDestination,
  type DestinationStream,
  type LevelWithSilent,
  type Logger,
  type LoggerOptions,
  pino,
} from 'pino';
import { PinoPretty as pretty } from 'pino-pretty';
import { describeError, isCount, NOT_LOGGED, PRIVATE_FIELDS, withoutPrivateData } from './private-data';

export interface LogSettings {
  readonly level: LevelWithSilent;
  /** The program that writes the line. */
  readonly service: string;
  /** Where lines go; standard output when left out: readable on a terminal, JSON elsewhere. */
  readonly destination?: DestinationStream;
}

export function loggerOptions({ level, service }: LogSettings): LoggerOptions {
  return {
    level,
    base: { service },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: {
      level: (label) => ({ level: label }),
      log: (fields) => withoutPrivateData(fields) as Record<string, unknown>,
    },
    // Fields that a child logger is bound to don't pass the formatter.
    redact: {
      paths: PRIVATE_FIELDS,
      censor: (value: unknown) => (isCount(value) ? value : NOT_LOGGED),
    },
    serializers: { err: (error: unknown) => (isNativeError(error) ? describeError(error) : error) },
  };
}

export function logDestination({ destination }: LogSettings): DestinationStream {
  if (destination !== undefined) return destination;
  if (!process.stdout.isTTY) return fileDestination({ fd: 1, sync: false });
  return pretty({ colorize: true, ignore: 'service', translateTime: 'SYS:HH:MM:ss', sync: true });
}

/** A logger for code that Nest doesn't run. It keeps the same rules about private data. */
export function createLogger(settings: LogSettings): Logger {
  return pino(loggerOptions(settings), logDestination(settings));
}
