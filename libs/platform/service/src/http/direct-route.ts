import { type INestApplication, type Type } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type ProblemFilter } from '../problems/problem-filter';
import { readBody } from './read-body';

declare module 'fastify' {
  interface FastifyContextConfig {
    direct?: { readonly controller: Type; readonly method: string };
  }
}

/**
 * For a route that is asked so often that what Nest and Fastify do for each request counts: the method is called with Fastify's own
 * request and reply and no other argument, and answers through the reply. `request.body` is the body's bytes, whatever its media
 * type. No pipe, guard, interceptor or later hook comes between, and no decorator of a parameter or of the answer has an effect;
 * errors are answered as on every route, and the API's description holds the route as its decorators describe it.
 */
export const DirectRoute = (): MethodDecorator => (target, method, descriptor) =>
  RouteConfig({ direct: { controller: target.constructor as Type, method: String(method) } })(
    target,
    method,
    descriptor,
  );

type DirectHandler = (request: FastifyRequest, reply: FastifyReply) => unknown;

/** Puts the methods that are marked before Fastify's parsing and Nest's handlers, as Nest makes its routes. */
export function connectDirectRoutes(
  fastify: FastifyInstance,
  nest: Pick<INestApplication, 'get'>,
  problems: Pick<ProblemFilter, 'answer'>,
): void {
  fastify.addHook('onRoute', (route) => {
    const { direct } = route.config ?? {};
    if (direct === undefined) return;
    const { method } = direct;
    const controller = nest.get<Record<string, DirectHandler>>(direct.controller, { strict: false });
    const limit = route.bodyLimit ?? fastify.initialConfig.bodyLimit ?? 0;
    const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      try {
        await readBody(request, limit);
        await controller[method](request, reply);
      } catch (error) {
        // What the caller still sends would be taken for its next request.
        if (!request.raw.complete && !reply.sent) void reply.header('connection', 'close');
        problems.answer(error, request, reply);
      }
    };
    // It never passes the request on, so Fastify's own reading of bodies, which costs more than the rest of its way, doesn't begin.
    route.onRequest = (request, reply, _passOn) => void answer(request, reply);
  });
}
