import { type IncomingMessage, type ServerResponse } from 'node:http';
import { isNativeError } from 'node:util/types';
import { type DynamicModule } from '@nestjs/common';
import { LoggerModule } from 'nestjs-pino';
import { pino } from 'pino';
import { logDestination, loggerOptions, type LogSettings } from './logger';
import { describeError } from './private-data';

type NamedRequest = IncomingMessage & { id?: unknown; originalUrl?: string };

const QUIET = ['/health/', '/metrics'];

const pathOf = (request: NamedRequest): string => (request.originalUrl ?? request.url ?? '').split('?', 1)[0];

/**
 * One line a request: method, path, status, time and correlation id. No address, header, query or body of anyone is written.
 * Lines that a request causes carry its correlation id.
 */
export function loggingModule(settings: LogSettings): DynamicModule {
  const destination = logDestination(settings);
  return LoggerModule.forRoot({
    pinoHttp: {
      logger: pino(loggerOptions(settings), destination),
      wrapSerializers: false,
      quietReqLogger: true,
      customAttributeKeys: { reqId: 'correlationId' },
      genReqId: (request: NamedRequest) => String(request.id ?? ''),
      serializers: {
        req: (request: NamedRequest) => ({ method: request.method, path: pathOf(request) }),
        res: (response: ServerResponse) => ({ status: response.statusCode }),
        err: (error: unknown) => (isNativeError(error) ? describeError(error) : error),
      },
      autoLogging: { ignore: (request) => QUIET.some((start) => pathOf(request).startsWith(start)) },
      customLogLevel: (_request, response, error) =>
        error !== undefined || response.statusCode >= 500 ? 'error' : 'info',
      customSuccessMessage: requestLine,
      customErrorMessage: requestLine,
      customSuccessObject: requestFields,
      customErrorObject: requestFields,
    },
  });
}

const requestLine = (request: NamedRequest, response: ServerResponse): string =>
  `${request.method} ${pathOf(request)} ${response.statusCode}`;

/** The filter has logged the error itself already, with its cause. */
const requestFields = (
  _request: unknown,
  _response: unknown,
  ...rest: unknown[]
): { durationMs: number | undefined } => ({
  durationMs: (rest.at(-1) as { responseTime?: number } | undefined)?.responseTime,
});
