import { type Metrics } from '@undertone/observability';
import { type FastifyInstance } from 'fastify';

const BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Time of each request by method, route (never the address itself, which may hold names) and status. */
export function measureRequests(fastify: FastifyInstance, metrics: Metrics): void {
  const durations = metrics.histogram({
    name: 'undertone_http_request_duration_seconds',
    help: 'Time from a request to the end of its answer.',
    labels: ['method', 'route', 'status'],
    buckets: BUCKETS_S,
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none';
    durations.observe({ method: request.method, route, status: reply.statusCode }, reply.elapsedTime / 1000);
    done();
  });
}
