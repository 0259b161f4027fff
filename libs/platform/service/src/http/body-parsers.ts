import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { Problem } from '../problems/problem';

type Done = (error: Error | null, body?: unknown) => void;

/** JSON; every other media type is answered with 415. What takes other bodies is a direct route, which parses nothing. */
export function addBodyParsers(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  const parseJson = fastify.getDefaultJsonParser('error', 'error');
  fastify.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    (request: FastifyRequest, body: Buffer, done: Done) => {
      if (body.length === 0) return done(null, undefined);
      parseJson(request, body.toString('utf8'), (error, value) =>
        error === null
          ? done(null, value)
          : done(
              new Problem('malformed-body', `the body is not valid JSON: ${error.message}`, { cause: error }),
            ),
      );
    },
  );
}
