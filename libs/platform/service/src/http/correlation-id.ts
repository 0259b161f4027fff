import { randomUUID } from 'node:crypto';
import { type IncomingMessage } from 'node:http';

export const CORRELATION_HEADER = 'x-correlation-id';

const SAFE = /^[A-Za-z0-9._-]{8,64}$/;

/** The caller's id where it has a safe form (it is written into logs), else a new one. */
export function correlationIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers[CORRELATION_HEADER];
  return typeof given === 'string' && SAFE.test(given) ? given : randomUUID();
}
