import { ReportLogError } from '@undertone/report-log';
import { Problem } from '@undertone/service';

/** Of PostgreSQL (class 08 and shutdown), of the socket, and of Prisma around either. */
const DATABASE_AWAY =
  /^(08...|57P0[123]|53300|E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|AI_AGAIN)|P1001|P1002|P1008|P1017|P2024)$/;
const NO_CONNECTION = /connection terminated|timeout exceeded when trying to connect|connection error/i;
const DATABASE_RETRY_S = 5;

/**
 * How the gateway's own errors are answered, for `createServiceApp`: what can't be done now and may be later is
 * `unavailable`, with `Retry-After`. `undefined` for any other error.
 */
export function gatewayProblem(error: unknown): Problem | undefined {
  if (error instanceof ReportLogError) return unavailable(error, error.message, error.retryAfterSeconds);
  for (let cause = error; isObject(cause); cause = cause.cause) {
    const { code, message } = cause;
    if (DATABASE_AWAY.test(String(code)) || NO_CONNECTION.test(String(message))) {
      return unavailable(error, 'the database is away; send the same reports again later', DATABASE_RETRY_S);
    }
  }
  return undefined;
}

const isObject = (value: unknown): value is { code?: unknown; message?: unknown; cause?: unknown } =>
  typeof value === 'object' && value !== null;

const unavailable = (cause: unknown, detail: string, seconds: number): Problem =>
  new Problem('unavailable', detail, { cause, headers: { 'retry-after': String(seconds) } });
