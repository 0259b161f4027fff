import path from 'node:path';
import { type DynamicModule, Module } from '@nestjs/common';
import { type MechanismTrainingConfig } from '@undertone/config';
import { JobRunner } from '@undertone/jobs';
import { type Store } from '@undertone/store';
import { FIT_MECHANISM, FitMechanism } from './jobs/fit-mechanism';
import { JobLifecycle } from './jobs/job-lifecycle';
import { JobObserver } from './jobs/job-observer';
import { MechanismJobsController } from './jobs/mechanism-jobs.controller';
import { MechanismsController } from './mechanisms/mechanisms.controller';
import { PublishedMechanisms } from './mechanisms/published-mechanisms';
import { signingKey } from './signing/signing-key';
import { SIGNING_KEY, SigningKeysController } from './signing/signing-keys.controller';

export interface MechanismTrainingOptions {
  /** Shared with other modules of the process; whoever opened it closes it, after the app. */
  store: Store;
  config: MechanismTrainingConfig;
  /** The built trainer; this package's own when left out. */
  trainerScript?: string;
}

const TRAINER = path.join(__dirname, 'trainer', 'main.js');

/** Learns mechanisms on D1, signs and publishes them. */
@Module({})
export class MechanismTrainingModule {
  static register(options: MechanismTrainingOptions): DynamicModule {
    const { store, config, trainerScript = TRAINER } = options;
    return {
      module: MechanismTrainingModule,
      controllers: [MechanismJobsController, MechanismsController, SigningKeysController],
      providers: [
        {
          provide: SIGNING_KEY,
          useFactory: () => signingKey({ home: config.home, secretKey: config.signingKey }),
        },
        { provide: PublishedMechanisms, useFactory: () => new PublishedMechanisms(store.mechanisms) },
        JobObserver,
        {
          provide: JobRunner,
          inject: [SIGNING_KEY, JobObserver],
          useFactory: (key: Awaited<ReturnType<typeof signingKey>>, observer: JobObserver) =>
            new JobRunner({
              pool: store.pool,
              table: 'mechanism_jobs',
              kinds: [FIT_MECHANISM],
              handlers: [new FitMechanism({ store, key, ...config, script: trainerScript })],
              home: config.home,
              leaseMs: config.jobLeaseMs,
              trainers: config.trainers,
              maximumAttempts: config.jobAttempts,
              stopGraceMs: config.shutdownTimeoutMs / 2,
              onEvent: (event) => observer.observe(event),
            }),
        },
        JobLifecycle,
      ],
    };
  }
}
