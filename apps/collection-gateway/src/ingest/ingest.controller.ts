import { Catch, Controller, Inject, type RpcExceptionFilter, UseFilters } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { type LogBatch } from '@undertone/report-log';
import { type Observable, throwError } from 'rxjs';

import { IngestConsumer } from './ingest-consumer';
import { REPORT_BATCH, REPORT_LOG } from './report-log-strategy';

/** Nest would put a text of its own in place of the error: the log must see why a batch failed. */
@Catch()
class AsItIs implements RpcExceptionFilter {
  catch(error: unknown): Observable<never> {
    return throwError(() => error);
  }
}

/** What happens to each batch of the report log. */
@Controller()
@UseFilters(AsItIs)
export class IngestController {
  constructor(@Inject(IngestConsumer) private readonly consumer: IngestConsumer) {}

  @EventPattern(REPORT_BATCH, REPORT_LOG)
  ingest(batch: LogBatch): Promise<void> {
    return this.consumer.handle(batch);
  }
}
