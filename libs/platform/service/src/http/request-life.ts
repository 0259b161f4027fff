import { withCorrelationId } from '@undertone/observability';
import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { CORRELATION_HEADER } from './correlation-id';

/** Told once for each request, when its connection is done with it. */
export type RequestEnd = (
  request: FastifyRequest,
  ended: { readonly status: number | 'aborted'; readonly durationMs: number },
) => void;

const LOOK_MS = 10;

/**
 * A request from its first line to its end: it runs under its correlation id, which its answer carries, and it counts as in flight
 * until its connection is done with it, whether with an answer or without.
 */
export class RequestLife {
  private inFlight = 0;
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
   * Lets requests in flight end and cuts what merely holds a connection open: browsers keep some that never asked anything.
   *
   * @param close stops listening, and resolves when every connection is gone
   */
  async drainDuring(close: () => Promise<void>): Promise<void> {
    const { server } = this.fastify;
    const sweep = setInterval(() => {
      if (!server.listening && this.inFlight === 0) server.closeAllConnections();
    }, LOOK_MS);
    try {
      await close();
    } finally {
      clearInterval(sweep);
    }
  }

  private begin(request: FastifyRequest, { raw }: FastifyReply): void {
    const began = performance.now();
    this.inFlight += 1;
    raw.once('close', () => {
      this.inFlight -= 1;
      const status = raw.writableFinished ? raw.statusCode : 'aborted';
      const durationMs = performance.now() - began;
      for (const listener of this.onEnd) listener(request, { status, durationMs });
    });
  }
}
