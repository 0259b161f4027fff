import { type FastifyInstance } from 'fastify';

const LOOK_MS = 10;

/** Lets requests in flight end and cuts what merely holds a connection open: browsers keep some that never asked anything. */
export class Drain {
  private inFlight = 0;

  constructor(private readonly fastify: FastifyInstance) {
    fastify.addHook('onRequest', (_request, reply, done) => {
      this.inFlight += 1;
      reply.raw.once('close', () => (this.inFlight -= 1));
      done();
    });
  }

  /** @param close stops listening, and resolves when every connection is gone */
  async during(close: () => Promise<void>): Promise<void> {
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
}
