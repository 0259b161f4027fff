import { Metrics } from './metrics';

describe('Metrics', () => {
  it('gives one metric for one name, and renders what was counted', async () => {
    const metrics = new Metrics();
    const description = {
      name: 'undertone_reports_total',
      help: 'Reports by outcome.',
      labels: ['outcome'],
    } as const;
    metrics.counter(description).inc({ outcome: 'stored' }, 3);
    metrics.counter(description).inc({ outcome: 'stored' }, 2);
    metrics.gauge({
      name: 'undertone_lag_entries',
      help: 'Entries waiting.',
      collect: (gauge) => gauge.set(7),
    });
    const text = await metrics.render();
    expect(text).toContain('undertone_reports_total{outcome="stored"} 5');
    expect(text).toContain('undertone_lag_entries 7');
    expect(text).toContain('nodejs_eventloop_lag_seconds');
    metrics.onApplicationShutdown();
  });

  it('keeps two processes of one test apart', async () => {
    const [one, other] = [new Metrics(), new Metrics()];
    one.counter({ name: 'only_here_total', help: 'x' }).inc();
    expect(await other.render()).not.toContain('only_here_total');
  });
});
