import { RouteConfig } from '@nestjs/platform-fastify';
import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { Problem } from '../problems/problem';

declare module 'fastify' {
  interface FastifyContextConfig {
    rawBody?: true;
  }
}

/** The handler gets the bytes of a JSON body, as it does of a CBOR body, and parses them itself. */
export const RawBody = (): MethodDecorator => RouteConfig({ rawBody: true });

type Done = (error: Error | null, body?: unknown) => void;

/** JSON (parsed, or raw where the route asks) and raw CBOR; every other media type is answered with 415. */
export function addBodyParsers(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  const parseJson = fastify.getDefaultJsonParser('error', 'error');
  fastify.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    (request: FastifyRequest, body: Buffer, done: Done) => {
      if (request.routeOptions.config.rawBody === true) return done(null, body);
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
  fastify.addContentTypeParser(
    'application/cbor',
    { parseAs: 'buffer' },
    (_request: FastifyRequest, body: Buffer, done: Done) => done(null, body),
  );
}
