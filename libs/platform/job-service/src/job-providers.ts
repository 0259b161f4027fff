import { type Provider } from '@nestjs/common';
import { type ClassifierTrainingConfig } from '@undertone/config';
import { type JobHandler, JobRunner, type JobTable } from '@undertone/jobs';
import { type Store } from '@undertone/store';
import { JobLifecycle } from './job-lifecycle';
import { JobObserver } from './job-observer';

export interface JobProviderOptions {
  store: Pick<Store, 'pool'>;
  /** Of any service that trains. */
  config: Pick<
    ClassifierTrainingConfig,
    'home' | 'jobLeaseMs' | 'trainers' | 'jobAttempts' | 'shutdownTimeoutMs'
  >;
  table: JobTable;
  kinds: readonly string[];
  /** Injection tokens of the handlers, one a kind. */
  handlers: readonly (new (...parameters: never[]) => JobHandler<unknown, never>)[];
}

/** A `JobRunner` for a module: it takes jobs while the service runs, and what happens is logged and counted. */
export function jobProviders({ store, config, table, kinds, handlers }: JobProviderOptions): Provider[] {
  return [
    JobObserver,
    {
      provide: JobRunner,
      inject: [JobObserver, ...handlers],
      useFactory: (observer: JobObserver, ...served: JobHandler<unknown, never>[]) =>
        new JobRunner({
          pool: store.pool,
          table,
          kinds,
          handlers: served,
          home: config.home,
          leaseMs: config.jobLeaseMs,
          trainers: config.trainers,
          maximumAttempts: config.jobAttempts,
          // Half of what the whole service has: the rest is for requests in flight and the database.
          stopGraceMs: config.shutdownTimeoutMs / 2,
          onEvent: (event) => observer.observe(event),
        }),
    },
    JobLifecycle,
  ];
}
