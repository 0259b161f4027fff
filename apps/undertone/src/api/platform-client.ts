/** A refusal or failure that a service answered as an RFC 9457 problem document. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  constructor(
    readonly status: number,
    readonly type: string,
    title: string,
    detail: string | undefined,
    readonly correlationId: string | undefined,
  ) {
    super(
      `${title}${detail ? `: ${detail}` : ''} (HTTP ${status}${correlationId ? `, correlation id ${correlationId}` : ''})`,
    );
  }
}

export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
  constructor(url: string, reason: string) {
    super(
      `no platform answers at ${url} (${reason}); start one with "undertone up", or name its address with --url`,
    );
  }
}

export type JobStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';

export interface JobView {
  id: string;
  status: JobStatus;
  attempt: number;
  progress: { stage: string; done: number; total: number; figures?: Record<string, number> } | null;
  result: Record<string, unknown> | null;
  error: { code?: string; message: string } | null;
}

/** The platform's HTTP API as the command line needs it. */
export class PlatformClient {
  constructor(readonly url: string) {}

  get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return this.#call<T>('GET', path, undefined, signal);
  }

  post<T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
    return this.#call<T>('POST', path, body, signal);
  }

  /**
   * Follows a job until it ends. An abort asks the service to cancel the job and rejects with the signal's reason.
   *
   * @throws {Error} when the job failed or was cancelled; the message is the job's own.
   */
  async followJob(path: string, onProgress: (job: JobView) => void, signal?: AbortSignal): Promise<JobView> {
    for (;;) {
      if (signal?.aborted) {
        await this.post(`${path}/cancel`).catch(() => undefined);
        throw signal.reason;
      }
      const job = await this.get<JobView>(path);
      onProgress(job);
      if (job.status === 'succeeded') return job;
      if (job.status === 'failed' || job.status === 'cancelled') {
        throw new Error(
          `job ${job.id} ${job.status === 'failed' ? 'failed' : 'was cancelled'}${job.error ? `: ${job.error.message}` : ''}`,
        );
      }
      await new Promise((r) => setTimeout(r, 250));
    }
  }

  async #call<T>(method: string, path: string, body: unknown, signal?: AbortSignal): Promise<T> {
    let response: Response;
    try {
      response = await fetch(new URL(path, this.url), {
        method,
        signal,
        headers: body === undefined ? {} : { 'content-type': 'application/json' },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
    } catch (e) {
      if (signal?.aborted) throw signal.reason;
      const cause = (e as { cause?: { code?: string; message?: string } }).cause;
      throw new UnreachableError(this.url, cause?.code ?? cause?.message ?? (e as Error).message);
    }
    const text = await response.text();
    if (!response.ok) throw problemOf(response, text);
    return this.#parsed(path, text) as T;
  }

  #parsed(path: string, text: string): unknown {
    if (text === '') return undefined;
    try {
      return JSON.parse(text);
    } catch {
      throw new Error(
        `${new URL(path, this.url).href} was not answered with JSON, so no platform of Undertone is there: name its address with --url`,
      );
    }
  }
}

function problemOf(response: Response, text: string): ProblemError {
  const correlationId = response.headers.get('x-correlation-id') ?? undefined;
  try {
    const { type, title, detail } = JSON.parse(text) as { type?: string; title?: string; detail?: string };
    return new ProblemError(
      response.status,
      type ?? 'about:blank',
      title ?? response.statusText,
      detail,
      correlationId,
    );
  } catch {
    return new ProblemError(
      response.status,
      'about:blank',
      response.statusText,
      text.slice(0, 200),
      correlationId,
    );
  }
}
