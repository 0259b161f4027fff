import path from 'node:path';
import { type DynamicModule, Module } from '@nestjs/common';
import { type SigningKey } from '@undertone/artifact';
import { type MechanismTrainingConfig } from '@undertone/config';
import { jobProviders } from '@undertone/job-service';
import { type Store } from '@undertone/store';
import { FIT_MECHANISM, FitMechanism } from './jobs/fit-mechanism';
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
        {
          provide: FitMechanism,
          inject: [SIGNING_KEY],
          useFactory: (key: SigningKey) => new FitMechanism({ store, key, ...config, script: trainerScript }),
        },
        ...jobProviders({
          store,
          config,
          table: 'mechanism_jobs',
          kinds: [FIT_MECHANISM],
          handlers: [FitMechanism],
        }),
      ],
    };
  }
}
