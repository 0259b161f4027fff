import {
  type BeforeApplicationShutdown,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { type Liveness, type Metrics, type Readiness } from '@undertone/observability';
import { type LogConsumer, type ReportLog, type Subscription } from '@undertone/report-log';
import { type Transports } from '@undertone/service';

import { ReportSweeper, type SweepSettings } from '../retention/report-sweeper';
import { IngestWatch } from './ingest-watch';
import { type LogLag } from './log-lag';
import { ReportLogStrategy } from './report-log-strategy';

export interface IngestSettings {
  readonly sweep: Pick<SweepSettings, 'everyMs' | 'chunk'>;
  /** How long the ingest may do nothing at all before the process counts as dead. */
  readonly stallMs: number;
}

export interface IngestSurroundings {
  readonly metrics: Metrics;
  readonly readiness: Readiness;
  readonly liveness: Liveness;
  readonly transports: Transports;
}

/** Subscribes the ingest to the log and watches over it, and sweeps what it has consumed, as long as the service runs. */
@Injectable()
export class IngestService
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  private readonly logger = new Logger('Ingest');
  private readonly sweeper: ReportSweeper;
  private watch: IngestWatch | undefined;

  constructor(
    log: ReportLog,
    consumer: LogConsumer,
    lag: LogLag,
    private readonly settings: IngestSettings,
    { metrics, readiness, liveness, transports }: IngestSurroundings,
  ) {
    this.sweeper = new ReportSweeper(log, consumer, {
      ...settings.sweep,
      onFailure: (error) => this.logger.error({ err: error }, 'consumed log entries could not be deleted'),
    });
    transports.add(
      new ReportLogStrategy(log, consumer, (subscription) => this.watchOver(subscription, liveness)),
    );
    metrics.gauge({
      name: 'undertone_ingest_lag_entries',
      help: 'Log entries that the ingest has not dealt with; not a number while the log is away.',
      collect: async (gauge) => gauge.set((await lag.readSoon()) ?? NaN),
    });
    metrics.gauge({
      name: 'undertone_ingest_last_active_seconds',
      help: 'Time since the ingest last looked at the log or handled a batch.',
      collect: (gauge) => gauge.set(this.watch?.inactiveSeconds() ?? NaN),
    });
    readiness.add('ingest', async () => {
      if (this.watch === undefined) throw new Error('it has not started');
      if (liveness.failure !== undefined) throw liveness.failure;
      return { lastActiveSeconds: this.watch.inactiveSeconds() };
    });
  }

  onApplicationBootstrap(): void {
    this.sweeper.start();
  }

  /** A subscription that ends from now on has been stopped. */
  beforeApplicationShutdown(): void {
    this.watch?.stop();
  }

  /** After the last request is answered and the last batch handled: what is left in the log is ingested after the next start. */
  async onApplicationShutdown(): Promise<void> {
    await this.sweeper.stop();
  }

  private watchOver(subscription: Subscription, liveness: Liveness): void {
    this.watch = new IngestWatch(subscription, {
      stallMs: this.settings.stallMs,
      onFailure: (failure) => {
        this.logger.fatal({ err: failure }, `${failure.message}; the process ends`);
        liveness.fail(failure);
      },
    });
  }
}
