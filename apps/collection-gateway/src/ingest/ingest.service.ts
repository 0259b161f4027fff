import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { type Metrics, type Readiness } from '@undertone/observability';
import { type LogConsumer, type ReportLog, type Subscription } from '@undertone/report-log';

import { ReportSweeper, type SweepSettings } from '../retention/report-sweeper';

/** Runs the ingest and the sweep of what it has consumed, from the start of the service to its end. */
@Injectable()
export class IngestService implements OnApplicationBootstrap, OnApplicationShutdown {
  private subscription: Subscription | undefined;
  private readonly sweeper: ReportSweeper;

  /** @param endLog closes the log, where it is the service's own */
  constructor(
    private readonly log: ReportLog,
    private readonly consumer: LogConsumer,
    sweep: Pick<SweepSettings, 'everyMs' | 'chunk'>,
    { metrics, readiness }: { metrics: Metrics; readiness: Readiness },
    private readonly endLog: () => Promise<void>,
  ) {
    const logger = new Logger('ReportSweeper');
    this.sweeper = new ReportSweeper(log, consumer, {
      ...sweep,
      onFailure: (error) => logger.error({ err: error }, 'consumed log entries could not be deleted'),
    });
    metrics.gauge({
      name: 'undertone_ingest_lag_entries',
      help: 'Log entries that the ingest has not dealt with.',
      // A scrape tells what it can while the log is away.
      collect: async (gauge) => gauge.set(await this.log.lag(this.consumer).catch(() => NaN)),
    });
    readiness.add('report log', async () => void (await this.log.lag(this.consumer)));
  }

  onApplicationBootstrap(): void {
    this.subscription = this.log.subscribe(this.consumer);
    this.sweeper.start();
  }

  /** After the last request is answered: what it put into the log is ingested now or after the next start. */
  async onApplicationShutdown(): Promise<void> {
    await this.sweeper.stop();
    await this.subscription?.stop();
    await this.endLog();
  }
}
