import { withCorrelationId } from '@undertone/observability';
import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { CORRELATION_HEADER } from './correlation-id';

/** Told once for each request, when its connection is done with it. */
export type RequestEnd = (
  request: FastifyRequest,
  ended: { readonly status: number | 'aborted'; readonly durationMs: number },
) => void;

const LOOK_MS = 10;
/** While draining: an upload that isn't over by then is cut off, as its sender may be slow on purpose. */
const UPLOAD_MS = 2_000;

/**
 * A request from its first line to its end: it runs under its correlation id, which its answer carries, and it counts as in flight
 * until its connection is done with it, whether with an answer or without.
 */
export class RequestLife {
  private readonly inFlight = new Set<FastifyRequest>();
  private readonly onEnd: RequestEnd[] = [];

  constructor(private readonly fastify: FastifyInstance) {
    fastify.addHook('onRequest', (request, reply, done) => {
      this.begin(request, reply);
      void reply.header(CORRELATION_HEADER, request.id);
      withCorrelationId(request.id, done);
    });
  }

  /** Before the first request. */
  whenEnded(listener: RequestEnd): void {
    this.onEnd.push(listener);
  }

  /**
   * Lets requests in flight end and cuts what merely holds a connection open: browsers keep some that never asked anything. A
   * request that isn't whole `uploadMs` after the server stopped listening is cut as well; one that is whole is answered,
   * however long that takes.
   *
   * @param close stops listening, and resolves when every connection is gone
   */
  async drainDuring(close: () => Promise<void>, uploadMs = UPLOAD_MS): Promise<void> {
    const { server } = this.fastify;
    let closedAt: number | undefined;
    const sweep = setInterval(() => {
      if (server.listening) return;
      closedAt ??= performance.now();
      if (this.inFlight.size === 0) server.closeAllConnections();
      else if (performance.now() - closedAt >= uploadMs) this.cutUploads();
    }, LOOK_MS);
    try {
      await close();
    } finally {
      clearInterval(sweep);
    }
  }

  private cutUploads(): void {
    for (const { raw } of this.inFlight) if (!raw.complete) raw.destroy();
  }

  private begin(request: FastifyRequest, { raw }: FastifyReply): void {
    const began = performance.now();
    this.inFlight.add(request);
    raw.once('close', () => {
      this.inFlight.delete(request);
      const status = raw.writableFinished ? raw.statusCode : 'aborted';
      const durationMs = performance.now() - began;
      for (const listener of this.onEnd) listener(request, { status, durationMs });
    });
  }
}
