import { type DynamicModule, Logger, Module, type Provider } from '@nestjs/common';
import { Metrics, Readiness } from '@undertone/observability';
import { type ConsumerFailure, PostgresReportLog, type ReportLog } from '@undertone/report-log';
import { type Store } from '@undertone/store';

import { ArtifactShelf } from './artifacts/artifact-shelf';
import { ArtifactsController } from './artifacts/artifacts.controller';
import { CountsController } from './counts/counts.controller';
import { CountsService } from './counts/counts.service';
import { consumerName, IngestConsumer } from './ingest/ingest-consumer';
import { IngestService } from './ingest/ingest.service';
import { ReportWriter } from './ingest/report-writer';
import { ReportsController } from './reports/reports.controller';
import { ReportsService } from './reports/reports.service';
import { TaskDirectory } from './tasks/task-directory';
import { TasksController } from './tasks/tasks.controller';
import { TasksService } from './tasks/tasks.service';

export interface CollectionGatewayOptions {
  /** Stays the caller's: close it after the service. */
  readonly store: Store;
  /** Stays the caller's. Left out, the gateway keeps a log of its own in the store's PostgreSQL. */
  readonly reportLog?: ReportLog;
  /** How often consumed log entries are deleted; 30,000 unless given. */
  readonly sweepEveryMs?: number;
}

const SWEEP_EVERY_MS = 30_000;
const SWEEP_CHUNK = 5_000;

/** The service that takes reports in and stores each once; it wants HealthModule and MetricsModule around it. */
@Module({})
export class CollectionGatewayModule {
  static register({ store, reportLog, sweepEveryMs }: CollectionGatewayOptions): DynamicModule {
    const log = reportLog ?? new PostgresReportLog({ pool: store.pool, onFailure: logFailure });
    const endLog = async (): Promise<void> => (reportLog === undefined ? log.close() : undefined);
    const writer = new ReportWriter(store.pool, consumerName(log.name));
    const artifacts = new ArtifactShelf(store.mechanisms);
    const directory = new TaskDirectory(store.tasks, artifacts);
    const tasks = new TasksService(store.tasks, artifacts, directory);
    const providers: Provider[] = [
      { provide: ArtifactShelf, useValue: artifacts },
      { provide: TasksService, useValue: tasks },
      { provide: CountsService, useValue: new CountsService(tasks, log, writer, store.pool) },
      {
        provide: ReportsService,
        inject: [Metrics],
        useFactory: (metrics: Metrics) => new ReportsService(tasks, log, store.pool, metrics),
      },
      {
        provide: IngestService,
        inject: [Metrics, Readiness],
        useFactory: (metrics: Metrics, readiness: Readiness) => {
          const outcomes = metrics.counter({
            name: 'undertone_ingest_reports_total',
            help: 'Log entries dealt with, by what became of them.',
            labels: ['outcome'],
          });
          const consumer = new IngestConsumer(
            consumerName(log.name),
            writer,
            (name) => directory.find(name),
            (tallies) => tallies.forEach(({ outcome, count }) => outcomes.inc({ outcome }, count)),
          );
          const sweep = { everyMs: sweepEveryMs ?? SWEEP_EVERY_MS, chunk: SWEEP_CHUNK };
          return new IngestService(log, consumer, sweep, { metrics, readiness }, endLog);
        },
      },
    ];
    return {
      module: CollectionGatewayModule,
      controllers: [TasksController, CountsController, ReportsController, ArtifactsController],
      providers,
    };
  }
}

const logger = new Logger('ReportLog');

function logFailure({ error, retryInMs, offsets, ...where }: ConsumerFailure): void {
  const span = offsets && `${offsets[0]}–${offsets[1]}`;
  logger.error({ err: error, ...where, offsets: span }, `a batch failed; tried again in ${retryInMs} ms`);
}
