import { UndertoneError } from '../undertone-error';

/** How a request that got no usable answer is tried again. */
export interface RetryPolicy {
  /** Tries of one request in all. */
  readonly attempts: number;
  /** The first wait is drawn from 0 to this; each further one from twice as wide a range. */
  readonly firstDelayMs: number;
  /** No wait is longer. Where the gateway asks for more (`Retry-After`), the request is given up until later. */
  readonly maximumDelayMs: number;
  /** One try, from the connection to the last byte of the answer. */
  readonly requestTimeoutMs: number;
  /** Resolves after `ms`; rejects when `signal` aborts. */
  readonly wait: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

const DEFAULT: RetryPolicy = {
  attempts: 6,
  firstDelayMs: 500,
  maximumDelayMs: 30_000,
  requestTimeoutMs: 30_000,
  wait,
};

/** @throws UndertoneError `invalid-option` */
export function retryPolicy(over: Partial<RetryPolicy> = {}): RetryPolicy {
  const policy = { ...DEFAULT, ...over };
  for (const name of ['attempts', 'firstDelayMs', 'maximumDelayMs', 'requestTimeoutMs'] as const) {
    const least = name === 'attempts' || name === 'requestTimeoutMs' ? 1 : 0;
    if (!Number.isFinite(policy[name]) || policy[name] < least)
      throw new UndertoneError(
        'invalid-option',
        `retry.${name} is ${policy[name]}: it must be at least ${least}`,
      );
  }
  return policy;
}

/**
 * The wait before try `attempt + 2`, in milliseconds: drawn anew each time ("full jitter"), so that devices which
 * failed together don't come back together, and never below what the gateway asked for.
 */
export function delayBefore(attempt: number, policy: RetryPolicy, retryAfterMs = 0): number {
  const widest = Math.min(policy.maximumDelayMs, policy.firstDelayMs * 2 ** attempt);
  // Not a privacy draw: the cryptographic source is left to the randomiser.
  return Math.max(retryAfterMs, Math.random() * widest);
}

/** Milliseconds that a `Retry-After` header asks for: seconds or an HTTP date; 0 where it is absent or unreadable. */
export function retryAfterMs(header: string | null, now: number): number {
  if (header === null) return 0;
  const text = header.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}
