import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { type Liveness, type Metrics, type Readiness } from '@undertone/observability';
import { type LogConsumer, type ReportLog, type Subscription } from '@undertone/report-log';
import { type Transports } from '@undertone/service';

import { IngestWatch } from './ingest-watch';
import { type LogLag } from './log-lag';
import { ReportLogStrategy } from './report-log-strategy';

export interface IngestSettings {
  /** How long the ingest may do nothing at all before the process counts as dead. */
  readonly stallMs: number;
}

export interface IngestSurroundings {
  readonly metrics: Metrics;
  readonly readiness: Readiness;
  readonly liveness: Liveness;
  readonly transports: Transports;
}

/** Subscribes the ingest to the log and watches over it as long as the service runs. */
@Injectable()
export class IngestService implements BeforeApplicationShutdown {
  private readonly logger = new Logger('Ingest');
  private watch: IngestWatch | undefined;

  constructor(
    log: ReportLog,
    consumer: LogConsumer,
    lag: LogLag,
    private readonly settings: IngestSettings,
    { metrics, readiness, liveness, transports }: IngestSurroundings,
  ) {
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

  /** A subscription that ends from now on has been stopped. */
  beforeApplicationShutdown(): void {
    this.watch?.stop();
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
