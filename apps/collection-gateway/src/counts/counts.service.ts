import { Injectable } from '@nestjs/common';
import { type CountsDocument } from '@undertone/protocol';
import { type Pool } from 'pg';

import { type LogLag } from '../ingest/log-lag';
import { type TasksService } from '../tasks/tasks.service';
import { readOutcomes } from './outcome-counts';

/** Tells what became of a task's reports. */
@Injectable()
export class CountsService {
  constructor(
    private readonly tasks: TasksService,
    private readonly lag: LogLag,
    private readonly pool: Pool,
  ) {}

  /** @throws Problem `unknown-task` */
  async read(taskName: string): Promise<CountsDocument> {
    const { name } = await this.tasks.find(taskName);
    // First what waits: where it is 0, all that was acknowledged before is in the counts read after it.
    const waiting = (await this.lag.readSoon()) ?? null;
    return { ...(await readOutcomes(this.pool, name)), waiting };
  }
}
