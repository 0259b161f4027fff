import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

interface Description<Label extends string> {
  /** Prometheus style with the unit last: `undertone_ingest_lag_entries`. */
  readonly name: string;
  readonly help: string;
  /** Of few values each, and none that tells who sent something. */
  readonly labels?: readonly Label[];
}

/** The metrics of one process. Asking for a name twice gives the same metric. */
@Injectable()
export class Metrics implements OnApplicationShutdown {
  private readonly registry = new Registry();

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  counter<L extends string = never>({ name, help, labels = [] }: Description<L>): Counter<L> {
    return this.once(name, () => new Counter({ name, help, labelNames: labels, registers: [this.registry] }));
  }

  /** @param collect called at each scrape, to set the value then */
  gauge<L extends string = never>({
    name,
    help,
    labels = [],
    collect,
  }: Description<L> & { collect?: (gauge: Gauge<L>) => void | Promise<void> }): Gauge<L> {
    return this.once(
      name,
      () =>
        new Gauge({
          name,
          help,
          labelNames: labels,
          registers: [this.registry],
          collect:
            collect &&
            function (this: Gauge<L>) {
              return collect(this);
            },
        }),
    );
  }

  histogram<L extends string = never>({
    name,
    help,
    labels = [],
    buckets,
  }: Description<L> & { buckets: readonly number[] }): Histogram<L> {
    return this.once(
      name,
      () =>
        new Histogram({ name, help, labelNames: labels, buckets: [...buckets], registers: [this.registry] }),
    );
  }

  /** The text that Prometheus scrapes. */
  render(): Promise<string> {
    return this.registry.metrics();
  }

  onApplicationShutdown(): void {
    this.registry.clear();
  }

  private once<M>(name: string, create: () => M): M {
    return (this.registry.getSingleMetric(name) as M | undefined) ?? create();
  }
}
