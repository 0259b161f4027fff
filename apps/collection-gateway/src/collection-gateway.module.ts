import {
  type DynamicModule,
  Logger,
  Module,
  type OnApplicationShutdown,
  type Provider,
  type Type,
} from '@nestjs/common';
import { Liveness, Metrics, Readiness } from '@undertone/observability';
import { type LogPositions, PostgresReportLog } from '@undertone/report-log';
import { Transports } from '@undertone/service';
import { type Store } from '@undertone/store';

import { ArtifactShelf } from './artifacts/artifact-shelf';
import { ArtifactsController } from './artifacts/artifacts.controller';
import { CountsController } from './counts/counts.controller';
import { CountsService } from './counts/counts.service';
import { consumerName, IngestConsumer } from './ingest/ingest-consumer';
import { IngestController } from './ingest/ingest.controller';
import { IngestService } from './ingest/ingest.service';
import { LogLag } from './ingest/log-lag';
import { ReportWriter } from './ingest/report-writer';
import { Housekeeping } from './recurring/housekeeping';
import { RejectionPublisher } from './rejections/rejection-publisher';
import { type GatewayLog, logFailure } from './report-log/open-report-log';
import { ReportsController } from './reports/reports.controller';
import { ReportsService } from './reports/reports.service';
import { ClosedTaskSweeper } from './retention/closed-task-sweeper';
import { ReportSweeper } from './retention/report-sweeper';
import { TaskDirectory } from './tasks/task-directory';
import { TasksController } from './tasks/tasks.controller';
import { TasksService } from './tasks/tasks.service';

/** `edge`: the HTTP interface, which takes reports into the log. `ingest`: from the log into the tables. */
export type GatewayPart = 'edge' | 'ingest';

export interface CollectionGatewayOptions {
  /** Stays the caller's: close it after the service. */
  readonly store: Store;
  /** Stays the caller's. Left out, the gateway keeps a log of its own in the store's PostgreSQL. */
  readonly reportLog?: GatewayLog;
  /** Both unless given. */
  readonly parts?: readonly GatewayPart[];
  /** How often consumed log entries are deleted; 30,000 unless given. */
  readonly sweepEveryMs?: number;
  /** Days after the end of a task when its reports are deleted; they are kept unless given. */
  readonly reportRetentionDays?: number;
  /** How long the ingest may do nothing at all before the process counts as dead; 120,000 unless given. */
  readonly ingestStallMs?: number;
}

const SWEEP_EVERY_MS = 30_000;
const SWEEP_CHUNK = 5_000;
const STALL_MS = 120_000;

/** The service that takes reports in and stores each once; it runs in a ServiceApp. */
@Module({})
export class CollectionGatewayModule {
  static register(options: CollectionGatewayOptions): DynamicModule {
    const { store, reportLog, parts = ['edge', 'ingest'] } = options;
    const log: GatewayLog = reportLog ?? new PostgresReportLog({ pool: store.pool, onFailure: logFailure });
    const publisher = rejectionPublisher(store, log);
    const writer = new ReportWriter(store.pool, log.name, () => publisher?.wake());
    const lag = new LogLag(log, writer);
    const artifacts = new ArtifactShelf(store.mechanisms);
    const directory = new TaskDirectory(store.tasks, artifacts);
    const built = parts.map((part) =>
      part === 'edge'
        ? edge({ store, log, lag, artifacts, directory })
        : ingest({ log, lag, writer, publisher, directory, options }),
    );
    return {
      module: CollectionGatewayModule,
      controllers: built.flatMap(({ controllers }) => controllers),
      providers: [
        {
          provide: LogReadiness,
          inject: [Readiness],
          useFactory: (readiness: Readiness) => new LogReadiness(readiness, lag),
        },
        ...(reportLog === undefined ? [{ provide: OwnLog, useValue: new OwnLog(log) }] : []),
        ...built.flatMap(({ providers }) => providers),
      ],
    };
  }
}

interface Part {
  readonly controllers: Type[];
  readonly providers: Provider[];
}

function edge({
  store,
  log,
  lag,
  artifacts,
  directory,
}: {
  store: Store;
  log: GatewayLog;
  lag: LogLag;
  artifacts: ArtifactShelf;
  directory: TaskDirectory;
}): Part {
  const tasks = new TasksService(store.tasks, artifacts, directory);
  return {
    controllers: [TasksController, CountsController, ReportsController, ArtifactsController],
    providers: [
      { provide: ArtifactShelf, useValue: artifacts },
      { provide: TasksService, useValue: tasks },
      { provide: CountsService, useValue: new CountsService(tasks, lag, store.pool) },
      {
        provide: ReportsService,
        inject: [Metrics],
        useFactory: (metrics: Metrics) => new ReportsService(tasks, log, store.pool, metrics),
      },
    ],
  };
}

function ingest({
  log,
  lag,
  writer,
  publisher,
  directory,
  options,
}: {
  log: GatewayLog;
  lag: LogLag;
  writer: ReportWriter;
  publisher: RejectionPublisher | undefined;
  directory: TaskDirectory;
  options: CollectionGatewayOptions;
}): Part {
  return {
    controllers: [IngestController],
    providers: [
      {
        provide: IngestConsumer,
        inject: [Metrics],
        useFactory: (metrics: Metrics) => {
          const outcomes = metrics.counter({
            name: 'undertone_ingest_reports_total',
            help: 'Log entries dealt with, by what became of them.',
            labels: ['outcome'],
          });
          return new IngestConsumer(
            consumerName(log.name),
            writer,
            (name) => directory.find(name),
            (met) => met.forEach(({ outcome, count }) => outcomes.inc({ outcome }, count)),
          );
        },
      },
      {
        provide: IngestService,
        inject: [IngestConsumer, Metrics, Readiness, Liveness, Transports],
        useFactory: (
          consumer: IngestConsumer,
          metrics: Metrics,
          readiness: Readiness,
          liveness: Liveness,
          transports: Transports,
        ) =>
          new IngestService(
            log,
            consumer,
            lag,
            { stallMs: options.ingestStallMs ?? STALL_MS },
            { metrics, readiness, liveness, transports },
          ),
      },
      {
        provide: Housekeeping,
        useValue: new Housekeeping(
          [consumedSweeper(log, writer, options), publisher, closedTaskSweeper(options)].flatMap(
            (work) => work ?? [],
          ),
        ),
      },
    ],
  };
}

/** Keeps the log as short as it can be. */
function consumedSweeper(
  log: GatewayLog,
  positions: LogPositions,
  { sweepEveryMs: everyMs = SWEEP_EVERY_MS }: CollectionGatewayOptions,
): ReportSweeper {
  const logger = new Logger('ReportSweeper');
  return new ReportSweeper(log, positions, {
    everyMs,
    chunk: SWEEP_CHUNK,
    onFailure: (error) => logger.error({ err: error }, 'consumed log entries could not be deleted'),
  });
}

/** Where the log has a topic for what was rejected. */
function rejectionPublisher(
  { pool }: Store,
  { name, rejections }: GatewayLog,
): RejectionPublisher | undefined {
  if (rejections === undefined) return undefined;
  const logger = new Logger('RejectionPublisher');
  return new RejectionPublisher(pool, {
    log: name,
    sink: rejections,
    onFailure: (error) =>
      logger.error({ err: error }, 'rejected entries could not be published; tried again soon'),
  });
}

/** Where reports aren't kept for ever. */
function closedTaskSweeper(options: CollectionGatewayOptions): ClosedTaskSweeper | undefined {
  const { store, reportRetentionDays: keepDays, sweepEveryMs: everyMs = SWEEP_EVERY_MS } = options;
  if (keepDays === undefined) return undefined;
  const logger = new Logger('ClosedTaskSweeper');
  return new ClosedTaskSweeper(store.reportPartitions, {
    keepDays,
    everyMs,
    onFailure: (error) =>
      logger.warn({ err: error }, 'reports of a closed task could not be deleted; tried again soon'),
    onExpired: (tasks) => logger.log({ tasks }, 'the reports of these tasks are deleted from now on'),
    onDropped: (dropped) => logger.log(dropped, 'the reports of a task were deleted'),
  });
}

/** The log can be reached, or the service isn't ready. */
class LogReadiness {
  constructor(readiness: Readiness, lag: LogLag) {
    readiness.add('report log', async () => ({ lagEntries: await lag.read() }));
  }
}

/** Closes a log that nobody else has. */
class OwnLog implements OnApplicationShutdown {
  constructor(private readonly log: GatewayLog) {}

  async onApplicationShutdown(): Promise<void> {
    await this.log.close();
  }
}
