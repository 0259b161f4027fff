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
import { correlationId } from './correlation';
import { describeError, isCount, NOT_LOGGED, PRIVATE_FIELDS, withoutPrivateData } from './private-data';

export interface LogSettings {
  readonly level: LevelWithSilent;
  /** The program that writes the line. */
  readonly service: string;
  /** Where lines go; standard output when left out: readable on a terminal, JSON elsewhere. */
  readonly destination?: DestinationStream;
}

function loggerOptions({ level, service }: LogSettings): LoggerOptions {
  return {
    level,
    base: { service },
    mixin: () => {
      const id = correlationId();
      return id === undefined ? {} : { correlationId: id };
    },
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

function logDestination({ destination }: LogSettings): DestinationStream {
  if (destination !== undefined) return destination;
  if (!process.stdout.isTTY) return fileDestination({ fd: 1, sync: false });
  return pretty({ colorize: true, ignore: 'service', translateTime: 'SYS:HH:MM:ss', sync: true });
}

/**
 * A logger that writes no private data, and the correlation id of the request that caused a line. Nest's parts of a service share
 * one, see LoggingModule.
 */
export function createLogger(settings: LogSettings): Logger {
  return pino(loggerOptions(settings), logDestination(settings));
}
