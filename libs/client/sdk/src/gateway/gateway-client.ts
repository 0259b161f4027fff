import { ProblemDocument, type ProblemKind, problemKind } from '@undertone/protocol';
import { UndertoneError } from '../undertone-error';
import { delayBefore, type RetryPolicy, retryAfterMs } from './retry-policy';

export interface GatewayRequest {
  readonly method: 'GET' | 'POST';
  /** Relative to the gateway's URL, without a leading slash. */
  readonly path: string;
  readonly accept: string;
  readonly body?: { readonly type: string; readonly bytes: Uint8Array };
  readonly signal?: AbortSignal;
}

/** A whole answer that is worth reading: neither a server failure nor a plea to come back. */
export interface GatewayAnswer {
  readonly status: number;
  readonly body: Uint8Array;
  /** Where the answer is one of the gateway's own problem documents. */
  readonly problem?: { readonly kind: ProblemKind; readonly detail: string };
}

/** Tells {@link GatewayClient.request} that an answer is worth nothing and the request worth another try. */
export class Unusable extends Error {
  constructor(
    message: string,
    readonly more: { status?: number; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message);
  }
}

const COME_BACK = [408, 425, 429];

export class GatewayClient {
  readonly #base: URL;

  constructor(
    url: string,
    private readonly fetch: typeof globalThis.fetch,
    private readonly retry: RetryPolicy,
  ) {
    this.#base = baseUrl(url);
  }

  /**
   * Sends a request until `read` makes something of an answer. Lost connections, timeouts, 408, 425, 429, 5xx and what
   * `read` finds {@link Unusable} are tried again under the policy, with the same bytes.
   *
   * @throws UndertoneError `unreachable` after the last try, or where the gateway asks for a longer wait than the
   *   policy has; `cancelled`; whatever else `read` throws
   */
  async request<T>(request: GatewayRequest, read: (answer: GatewayAnswer) => T): Promise<T> {
    const { method, path, signal } = request;
    for (let attempt = 0; ; attempt++) {
      try {
        return read(await this.#once(request));
      } catch (error) {
        if (signal?.aborted) throw cancelled(signal);
        if (!(error instanceof Unusable)) throw error;
        const delay = delayBefore(attempt, this.retry, error.more.retryAfterMs);
        if (attempt + 1 >= this.retry.attempts || delay > this.retry.maximumDelayMs)
          throw new UndertoneError(
            'unreachable',
            `${method} ${new URL(path, this.#base)}: ${error.message} (${attempt + 1} of ${this.retry.attempts} tries); try again later`,
            error.more,
          );
        await this.#wait(delay, signal);
      }
    }
  }

  async #once({ method, path, accept, body, signal }: GatewayRequest): Promise<GatewayAnswer> {
    const timeout = AbortSignal.timeout(this.retry.requestTimeoutMs);
    const { response, bytes } = await this.#exchange(new URL(path, this.#base), {
      method,
      headers: { accept, ...(body && { 'content-type': body.type }) },
      body: body?.bytes as RequestInit['body'],
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      // Cookies and referrers would tie reports to a person.
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
    });
    const { status } = response;
    const problem = problemOf(response, bytes);
    if (status >= 500 || COME_BACK.includes(status))
      throw new Unusable(`the answer was ${status}${problem ? ` (${problem.detail})` : ''}`, {
        status,
        retryAfterMs: retryAfterMs(response.headers.get('retry-after'), Date.now()),
      });
    return { status, body: bytes, problem };
  }

  async #exchange(url: URL, init: RequestInit): Promise<{ response: Response; bytes: Uint8Array }> {
    try {
      const { fetch } = this;
      const response = await fetch(url, init);
      return { response, bytes: new Uint8Array(await response.arrayBuffer()) };
    } catch (error) {
      throw new Unusable(`no answer: ${reasonOf(error)}`, { cause: error });
    }
  }

  async #wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.retry.wait(ms, signal);
    } catch (error) {
      throw signal?.aborted ? cancelled(signal) : error;
    }
  }
}

/** An answer that nothing here can use, as an error to give up with. */
export function unexpectedAnswer(what: string, { status, problem }: GatewayAnswer): UndertoneError {
  const said = problem ? `${problem.kind}: ${problem.detail}` : 'with no problem document of the gateway';
  return new UndertoneError('unexpected-answer', `${what}: the answer was ${status}, ${said}`, { status });
}

function problemOf(response: Response, bytes: Uint8Array): GatewayAnswer['problem'] {
  if (response.ok) return undefined;
  try {
    const document = ProblemDocument.parse(JSON.parse(new TextDecoder().decode(bytes)));
    const kind = problemKind(document);
    return kind && { kind, detail: document.detail ?? document.title };
  } catch {
    return undefined;
  }
}

function cancelled(signal: AbortSignal): UndertoneError {
  return new UndertoneError('cancelled', 'the request was cancelled', { cause: signal.reason });
}

/** `fetch` says "fetch failed" and keeps the reason as the cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } };
  return cause?.message || cause?.code || message || String(error);
}

function baseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new UndertoneError('invalid-option', `url is ${text}: it must be an http or https URL`);
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}
