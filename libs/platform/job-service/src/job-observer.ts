import { Injectable } from '@nestjs/common';
import { type JobEvent, jobLogLine } from '@undertone/jobs';
import { InjectLogger, type Logger, Metrics } from '@undertone/observability';

/** Writes what happens to jobs into the log and counts it. */
@Injectable()
export class JobObserver {
  private readonly events;

  constructor(
    @InjectLogger() private readonly logger: Logger,
    metrics: Metrics,
  ) {
    this.events = metrics.counter({
      name: 'undertone_job_events_total',
      help: 'What happened to training jobs.',
      labels: ['kind', 'event'],
    });
  }

  observe(event: JobEvent): void {
    const { level, message, fields } = jobLogLine(event);
    this.logger[level](fields, message);
    if (event.type !== 'fault' && event.type !== 'output') {
      this.events.inc({ kind: event.job.kind, event: event.type });
    }
  }
}
