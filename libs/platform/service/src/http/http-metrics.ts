import { type Metrics } from '@undertone/observability';
import { type RequestEnd } from './request-life';

const BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Time of each answered request by method, route (never the address itself, which may hold names) and status. */
export function requestMetrics(metrics: Metrics): RequestEnd {
  const durations = metrics.histogram({
    name: 'undertone_http_request_duration_seconds',
    help: 'Time from a request to the end of its answer.',
    labels: ['method', 'route', 'status'],
    buckets: BUCKETS_S,
  });
  return (request, { status, durationMs }) => {
    if (status === 'aborted') return;
    const route = request.routeOptions.url ?? 'none';
    durations.observe({ method: request.method, route, status }, durationMs / 1000);
  };
}
