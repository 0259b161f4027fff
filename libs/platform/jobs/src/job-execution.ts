import { mkdir, rm } from 'node:fs/promises';
import { type Pool } from 'pg';
import { type Job, type JobFailure, type JobProgress } from './job';
import { JobError } from './job-errors';
import { type JobEvent } from './job-events';
import { type JobContext, type JobHandler } from './job-handlers';
import { type JobRows } from './job-rows';
import { LeaseKeeper } from './lease-keeper';
import { inTransaction, type Sql } from '@undertone/store';
import { type TrainerOutcome, TrainerProcess } from './trainer-process';

const PROGRESS_INTERVAL_MS = 500;

export interface JobExecutionOptions {
  pool: Pool;
  rows: JobRows;
  /** The leased job. */
  job: Job;
  /** Who holds the lease. */
  holder: string;
  handler: JobHandler;
  folder: string;
  leaseMs: number;
  maximumAttempts: number;
  stopGraceMs: number;
  /** Puts a message for the job into the queue, as part of the transaction; delayed before a retry. */
  wake(transaction: Sql, id: string, delay: 'none' | 'retry'): Promise<void>;
  onEvent(event: JobEvent): void;
}

type StopReason = 'cancel' | 'shutdown' | 'lost';

/** One attempt at one job, from the taken lease to the ended, requeued or lost job. */
export class JobExecution {
  /** Resolves when nothing of the attempt is left running. Never rejects. */
  readonly finished: Promise<void>;
  private readonly lease: LeaseKeeper;
  private trainer: TrainerProcess | undefined;
  private stopReason: StopReason | undefined;

  constructor(private readonly options: JobExecutionOptions) {
    const { rows, job, holder, leaseMs, onEvent } = options;
    this.lease = new LeaseKeeper({
      leaseMs,
      intervalMs: Math.min(PROGRESS_INTERVAL_MS, leaseMs / 4),
      renew: (progress) => rows.renew(job.id, holder, progress),
      onLost: () => this.stop('lost'),
      onCancelRequested: () => this.stop('cancel'),
      onFault: (error) => onEvent({ type: 'fault', error }),
    });
    this.finished = this.run().catch((error: unknown) => onEvent({ type: 'fault', error }));
  }

  /** Ends the attempt early: the trainer saves its checkpoint and stops. A cancellation outranks a shutdown. */
  stop(reason: StopReason): void {
    if (this.stopReason !== 'lost' && this.stopReason !== 'cancel') this.stopReason = reason;
    this.trainer?.stop();
  }

  private async run(): Promise<void> {
    const { job, folder } = this.options;
    const context: JobContext = { job, folder };
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const request = await this.options.handler.prepare(context);
      if (this.stopReason) return await this.endEarly(this.stopReason);
      const outcome = await this.train(request);
      if (outcome.kind === 'result' && this.stopReason !== 'cancel' && this.stopReason !== 'lost') {
        return await this.succeed(outcome.result, context);
      }
      if (this.stopReason) return await this.endEarly(this.stopReason);
      await this.endUnsuccessfully(outcome);
    } catch (error) {
      if (this.stopReason) return await this.endEarly(this.stopReason);
      const failure = failureOf(error);
      await (error instanceof JobError ? this.fail(failure) : this.retry(failure));
    } finally {
      await this.lease.stop();
    }
  }

  private train(request: unknown): Promise<TrainerOutcome> {
    const { handler, job, folder, stopGraceMs, onEvent } = this.options;
    this.trainer = new TrainerProcess({
      script: handler.script,
      environment: handler.environment ?? {},
      execArgv: handler.execArgv ?? [],
      request,
      folder,
      attempt: job.attempt,
      stopGraceMs,
      onProgress: (progress: JobProgress) => this.lease.report(progress),
      onOutput: (line) => onEvent({ type: 'output', job, line }),
    });
    onEvent({ type: 'started', job, pid: this.trainer.pid });
    return this.trainer.outcome;
  }

  private async succeed(result: unknown, context: JobContext): Promise<void> {
    const { pool, rows, job, holder, handler, folder, onEvent } = this.options;
    const completion = await handler.complete(result, context);
    const kept = await inTransaction(pool, async (transaction) => {
      if (!(await rows.within(transaction).succeed(job.id, holder, completion.result))) return false;
      await completion.store(transaction);
      return true;
    });
    if (kept) {
      await rm(folder, { recursive: true, force: true });
      return onEvent({ type: 'succeeded', job });
    }
    const { held } = await rows.renew(job.id, holder);
    await this.endEarly(held ? 'cancel' : 'lost');
  }

  private async endEarly(reason: StopReason): Promise<void> {
    const { rows, job, holder, onEvent } = this.options;
    if (reason === 'cancel') {
      await rows.cancelled(job.id, holder);
      return onEvent({ type: 'cancelled', job });
    }
    if (reason === 'shutdown') {
      await this.putBack((within) => within.release(job.id, holder), 'none');
      return onEvent({ type: 'released', job });
    }
    onEvent({ type: 'lost', job });
  }

  private async endUnsuccessfully(outcome: TrainerOutcome): Promise<void> {
    switch (outcome.kind) {
      case 'failure':
        return outcome.retry === 'worthwhile' ? this.retry(outcome.failure) : this.fail(outcome.failure);
      case 'crash':
        return this.retry(outcome.failure);
      default:
        // Somebody else's SIGTERM: it saved and stopped without being told to by its service.
        return this.retry({ code: 'trainer-stopped', message: 'the trainer was told to stop from outside' });
    }
  }

  private async retry(failure: JobFailure): Promise<void> {
    const { job, holder, maximumAttempts, onEvent } = this.options;
    if (job.attempt >= maximumAttempts) {
      return this.fail({
        code: failure.code,
        message: `Attempt ${job.attempt} of ${maximumAttempts} was the last: ${failure.message}.`,
      });
    }
    await this.putBack((within) => within.requeue(job.id, holder, failure), 'retry');
    onEvent({ type: 'retried', job, failure, lastLines: this.trainer?.lastLines ?? [] });
  }

  private async fail(failure: JobFailure): Promise<void> {
    const { rows, job, holder, onEvent } = this.options;
    await rows.fail(job.id, holder, failure);
    onEvent({ type: 'failed', job, failure, lastLines: this.trainer?.lastLines ?? [] });
  }

  private async putBack(change: (rows: JobRows) => Promise<boolean>, delay: 'none' | 'retry'): Promise<void> {
    const { pool, rows, job, wake } = this.options;
    await inTransaction(pool, async (transaction) => {
      if (await change(rows.within(transaction))) await wake(transaction, job.id, delay);
    });
  }
}

function failureOf(error: unknown): JobFailure {
  if (!(error instanceof Error)) return { code: 'job-error', message: String(error) };
  const { code } = error as Error & { code?: unknown };
  return { code: typeof code === 'string' ? code : 'job-error', message: error.message };
}
