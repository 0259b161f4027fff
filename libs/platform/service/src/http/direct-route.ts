import { type INestApplication, type Type } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    direct?: { readonly controller: Type; readonly method: string };
  }
}

/**
 * For a route that is asked so often that what Nest does for each request counts: Fastify calls the method itself, with its own
 * request and reply and no other argument, and the method answers through the reply. The body is bytes, as with RawBody. No pipe,
 * guard or interceptor comes between, and no decorator of a parameter or of the answer has an effect; errors are answered as on every
 * route, and the API's description holds the route as its decorators describe it.
 */
export const DirectRoute = (): MethodDecorator => (target, method, descriptor) =>
  RouteConfig({ rawBody: true, direct: { controller: target.constructor as Type, method: String(method) } })(
    target,
    method,
    descriptor,
  );

type DirectHandler = (request: FastifyRequest, reply: FastifyReply) => unknown;

/** Puts the methods that are marked in the place of Nest's handlers, as Nest makes its routes. */
export function connectDirectRoutes(fastify: FastifyInstance, nest: Pick<INestApplication, 'get'>): void {
  fastify.addHook('onRoute', (route) => {
    const { direct } = route.config ?? {};
    if (direct === undefined) return;
    const { method } = direct;
    const controller = nest.get<Record<string, DirectHandler>>(direct.controller, { strict: false });
    route.handler = (request, reply) => controller[method](request, reply);
  });
}
