import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { type Pool } from 'pg';
import PgBoss from 'pg-boss';
import { type Job } from './job';
import { FinishedJobError, JobConfigurationError, UnknownJobError } from './job-errors';
import { type JobEvent } from './job-events';
import { JobExecution } from './job-execution';
import { handlersByKind, type JobHandler } from './job-handlers';
import { JobRows, type JobTable } from './job-rows';
import { inTransaction, type Sql } from '@undertone/store';

export interface JobRunnerOptions {
  pool: Pool;
  /** The table of the service that owns this runner. */
  table: JobTable;
  /** Every kind of job that the service takes; each needs exactly one handler. */
  kinds: readonly string[];
  handlers: readonly JobHandler<unknown, never>[];
  /** Work folders are kept in `${home}/jobs/<job id>`. */
  home: string;
  /** How long a job stays with a process that gives no sign of life; default 10,000. */
  leaseMs?: number;
  /** How many trainer processes may run side by side; default 1. */
  trainers?: number;
  /** How often a job may be started before a crash fails it; default 3. */
  maximumAttempts?: number;
  /** How long a trainer may take to save and end once told to; default 10,000. */
  stopGraceMs?: number;
  /** Pause before another attempt after a crash; default 1,000. */
  retryDelayMs?: number;
  /** How often the queue is looked at; default 500. */
  pollMs?: number;
  onEvent?(event: JobEvent): void;
}

const SWEEP_LIMIT = 100;
/** Work folders of failed and cancelled jobs are kept this long, for whoever looks into them. */
const KEEP_FOLDERS_DAYS = 7;
/** A message that was fetched by a process which then died comes back after this. */
const MESSAGE_EXPIRY_SECONDS = 60;

/**
 * Queues a service's training jobs and runs each in a trainer process of its own.
 *
 * The job's row is the truth, a queue message only a wake-up for it: whoever fetches the message takes the lease on
 * the row or lets the message go. So a message may come twice, late, or never (rows are swept for jobs without one)
 * and each job still ends exactly once. Kill any process at any moment: the job is taken up from its last checkpoint.
 */
export class JobRunner {
  private readonly handlers: Map<string, JobHandler>;
  private readonly rows: JobRows;
  private readonly boss: PgBoss;
  private readonly queue: string;
  private readonly holder = `${hostname()}/${process.pid}/${randomUUID()}`;
  private readonly running = new Map<string, JobExecution>();
  private readonly settings: Required<Omit<JobRunnerOptions, 'handlers' | 'kinds' | 'onEvent'>>;
  private readonly onEvent: (event: JobEvent) => void;
  private timer: NodeJS.Timeout | undefined;
  private state: 'new' | 'started' | 'stopping' = 'new';
  private pumping: Promise<void> | undefined;
  private pumpAgain = false;
  private sweptAt = -Infinity;

  /** Throws {@link JobConfigurationError} unless each kind has exactly one handler. */
  constructor(options: JobRunnerOptions) {
    const { handlers, kinds, onEvent, ...settings } = options;
    this.handlers = handlersByKind(kinds, handlers);
    this.settings = {
      leaseMs: 10_000,
      trainers: 1,
      maximumAttempts: 3,
      stopGraceMs: 10_000,
      retryDelayMs: 1_000,
      pollMs: 500,
      ...settings,
    };
    this.onEvent = onEvent ?? (() => undefined);
    this.queue = settings.table;
    this.rows = new JobRows(settings.pool, settings.table, this.settings.leaseMs);
    this.boss = new PgBoss({ db: bossSql(settings.pool), schema: 'pgboss', schedule: false });
    this.boss.on('error', (error) => this.onEvent({ type: 'fault', error }));
  }

  /** Installs the queue where it's missing and begins to take jobs, those of a dead process included. */
  async start(): Promise<void> {
    if (this.state !== 'new') throw new JobConfigurationError('This job runner has been started before.');
    await this.boss.start();
    await this.boss.createQueue(this.queue, {
      name: this.queue,
      policy: 'short',
      retryLimit: 5,
      expireInSeconds: MESSAGE_EXPIRY_SECONDS,
    });
    await this.removeOldFolders();
    this.state = 'started';
    this.timer = setInterval(() => this.pump(), this.settings.pollMs);
    this.pump();
  }

  /** Writes the job and its queue message in one transaction; throws {@link JobConfigurationError} on an unknown kind. */
  async enqueue(kind: string, request: unknown): Promise<Job> {
    if (!this.handlers.has(kind)) {
      throw new JobConfigurationError(
        `There is no job kind "${kind}": this service has ${[...this.handlers.keys()].join(', ')}.`,
      );
    }
    const job = await inTransaction(this.settings.pool, async (transaction) => {
      const inserted = await this.rows.within(transaction).insert(kind, request);
      await this.wake(transaction, inserted.id, 'none');
      return inserted;
    });
    this.pump();
    return job;
  }

  /** Throws {@link UnknownJobError}. */
  async get(id: string): Promise<Job> {
    const job = await this.rows.find(id);
    if (!job) throw new UnknownJobError(id);
    return job;
  }

  /** The newest jobs first. */
  list(options: { limit: number }): Promise<Job[]> {
    return this.rows.list(options.limit);
  }

  /**
   * Cancels a queued job at once and asks a running one to save its checkpoint and stop; the returned job tells which.
   * Asking again is harmless. Throws {@link UnknownJobError}, and {@link FinishedJobError} for a job that has already
   * succeeded or failed.
   */
  async cancel(id: string): Promise<Job> {
    const before = await this.get(id);
    const answer = await this.rows.requestCancel(id);
    if (answer === 'requested') this.running.get(id)?.stop('cancel');
    const job = await this.get(id);
    if (answer === undefined && job.status !== 'cancelled') throw new FinishedJobError(before.id, job.status);
    return job;
  }

  /** Stops taking jobs, has running trainers save and stop, and puts their jobs back into the queue. */
  async stop(): Promise<void> {
    if (this.state === 'stopping') return;
    const wasStarted = this.state === 'started';
    this.state = 'stopping';
    clearInterval(this.timer);
    await this.pumping;
    for (const execution of this.running.values()) execution.stop('shutdown');
    await Promise.all([...this.running.values()].map((execution) => execution.finished));
    if (wasStarted) await this.boss.stop({ graceful: false });
  }

  private async wake(transaction: Sql, id: string, delay: 'none' | 'retry'): Promise<void> {
    await this.boss.send(
      this.queue,
      { id },
      {
        // Under the policy "short" a job has at most one message waiting.
        singletonKey: id,
        startAfter: delay === 'retry' ? new Date(Date.now() + this.settings.retryDelayMs) : undefined,
        db: bossSql(transaction),
      },
    );
  }

  /** Starts what may be started now; a call during a call makes it look once more. */
  private pump(): void {
    this.pumpAgain = true;
    this.pumping ??= this.startWaiting()
      .catch((error: unknown) => this.onEvent({ type: 'fault', error }))
      .finally(() => (this.pumping = undefined));
  }

  private async startWaiting(): Promise<void> {
    while (this.pumpAgain && this.state === 'started') {
      this.pumpAgain = false;
      await this.sweep();
      while (this.state === 'started' && this.running.size < this.settings.trainers) {
        const [message] = await this.boss.fetch<{ id: string }>(this.queue);
        if (!message) break;
        const job = await this.rows.take(message.data.id, this.holder);
        await this.boss.complete(this.queue, message.id);
        if (job) await this.execute(job);
      }
    }
  }

  /** Sends a message for every job that could start: those without one, and those whose process has died. */
  private async sweep(): Promise<void> {
    if (performance.now() - this.sweptAt < this.settings.leaseMs / 4) return;
    this.sweptAt = performance.now();
    await this.rows.cancelAbandoned();
    for (const id of await this.rows.waiting(SWEEP_LIMIT)) await this.wake(this.settings.pool, id, 'none');
  }

  private async execute(job: Job): Promise<void> {
    const { pool, leaseMs, maximumAttempts, stopGraceMs } = this.settings;
    const handler = this.handlers.get(job.kind);
    if (!handler || job.attempt > maximumAttempts) {
      const failure = handler
        ? {
            code: 'service-lost',
            message: `Attempt ${maximumAttempts} of ${maximumAttempts} was the last: the service ended without putting the job back.`,
          }
        : { code: 'unknown-kind', message: `This version of the service has no job kind "${job.kind}".` };
      await this.rows.failUnstarted(job.id, this.holder, failure);
      return this.onEvent({ type: 'failed', job, failure, lastLines: [] });
    }
    const execution = new JobExecution({
      pool,
      rows: this.rows,
      job,
      holder: this.holder,
      handler,
      folder: this.folderOf(job.id),
      leaseMs,
      maximumAttempts,
      stopGraceMs,
      wake: (transaction, id, delay) => this.wake(transaction, id, delay),
      onEvent: this.onEvent,
    });
    this.running.set(job.id, execution);
    void execution.finished.then(() => {
      this.running.delete(job.id);
      this.pump();
    });
  }

  private folderOf(id: string): string {
    return path.join(this.settings.home, 'jobs', id);
  }

  private async removeOldFolders(): Promise<void> {
    const folders = await readdir(path.join(this.settings.home, 'jobs')).catch(() => []);
    for (const id of await this.rows.endedBefore(KEEP_FOLDERS_DAYS, folders)) {
      await rm(this.folderOf(id), { recursive: true, force: true });
    }
  }
}

const bossSql = (sql: Sql): PgBoss.Db => ({ executeSql: (text, values) => sql.query(text, values) });
