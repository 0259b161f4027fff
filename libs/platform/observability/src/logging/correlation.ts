import { AsyncLocalStorage } from 'node:async_hooks';

const current = new AsyncLocalStorage<string>();

/** Runs the work, and all that it causes, under an id: lines that are logged meanwhile carry it. */
export function withCorrelationId<T>(id: string, work: () => T): T {
  return current.run(id, work);
}

/** Of the request that caused the caller to run; undefined for what no request caused. */
export function correlationId(): string | undefined {
  return current.getStore();
}
