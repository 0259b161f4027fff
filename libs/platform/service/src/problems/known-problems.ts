import { HttpException } from '@nestjs/common';
import { readinessFailure } from '@undertone/observability';
import { type ProblemKind, ProtocolError } from '@undertone/protocol';
import { Problem } from './problem';

const BY_STATUS: Readonly<Record<number, { kind: ProblemKind; detail: (message: string) => string }>> = {
  401: { kind: 'unauthorised', detail: (message) => message },
  403: { kind: 'forbidden', detail: (message) => message },
  404: { kind: 'not-found', detail: (message) => `there is nothing at this address (${message})` },
  405: { kind: 'method-not-allowed', detail: (message) => message },
  409: { kind: 'conflict', detail: (message) => message },
  415: {
    kind: 'unsupported-media-type',
    detail: () =>
      'the body is of a media type that is not taken here; send application/json or application/cbor',
  },
  422: { kind: 'invalid-record', detail: (message) => message },
  429: { kind: 'too-many-requests', detail: (message) => message },
  503: { kind: 'unavailable', detail: (message) => message },
};

/** What the framework and the protocol throw. */
export function knownProblem(error: unknown, limits: { bodyBytes: number }): Problem | undefined {
  if (error instanceof Problem) return error;
  if (error instanceof ProtocolError) {
    const errors = error.field === undefined ? undefined : [{ field: error.field, detail: error.message }];
    return new Problem(error.code, error.message, { cause: error, errors });
  }
  if (!(error instanceof HttpException)) return undefined;
  const missing = readinessFailure(error);
  if (missing !== undefined) {
    const errors = Object.entries(missing).map(([field, { message }]) => ({
      field,
      detail: message ?? 'down',
    }));
    const detail = errors.map((e) => `${e.field}: ${e.detail}`).join('; ');
    return new Problem('unavailable', `not ready (${detail})`, { errors, headers: { 'retry-after': '5' } });
  }
  const status = error.getStatus();
  if (status === 413) {
    const detail = `the body is larger than ${limits.bodyBytes} bytes; send smaller batches`;
    return new Problem('body-too-large', detail, { cause: error });
  }
  if (status >= 500 && status !== 503) return undefined;
  const known = BY_STATUS[status] ?? { kind: 'invalid-request', detail: (message: string) => message };
  return new Problem(known.kind, known.detail(error.message), { cause: error });
}
