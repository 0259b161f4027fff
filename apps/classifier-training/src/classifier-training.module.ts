import path from 'node:path';
import { type DynamicModule, Module } from '@nestjs/common';
import { type ClassifierTrainingConfig } from '@undertone/config';
import { jobProviders } from '@undertone/job-service';
import { type Store } from '@undertone/store';
import { ClassifiersController } from './classifiers/classifiers.controller';
import { FittedClassifiers } from './classifiers/fitted-classifiers';
import { ClassifierJobsController } from './jobs/classifier-jobs.controller';
import { CollectedReports } from './jobs/collected-reports';
import { FIT_CLASSIFIER, FitClassifier } from './jobs/fit-classifier';

export interface ClassifierTrainingOptions {
  /** Shared with other modules of the process; whoever opened it closes it, after the app. */
  store: Store;
  config: ClassifierTrainingConfig;
  /** The built trainer; this package's own when left out. */
  trainerScript?: string;
}

const TRAINER = path.join(__dirname, 'trainer', 'main.js');

/** Fits classifiers on reports and answers predictions. */
@Module({})
export class ClassifierTrainingModule {
  static register(options: ClassifierTrainingOptions): DynamicModule {
    const { store, config, trainerScript = TRAINER } = options;
    return {
      module: ClassifierTrainingModule,
      controllers: [ClassifierJobsController, ClassifiersController],
      providers: [
        { provide: CollectedReports, useFactory: () => new CollectedReports(store) },
        { provide: FittedClassifiers, useFactory: () => new FittedClassifiers(store) },
        {
          provide: FitClassifier,
          useFactory: () => new FitClassifier({ store, ...config, script: trainerScript }),
        },
        ...jobProviders({
          store,
          config,
          table: 'classifier_jobs',
          kinds: [FIT_CLASSIFIER],
          handlers: [FitClassifier],
        }),
      ],
    };
  }
}
