import { type JobProgress } from './job';
import { type LeaseState } from './job-rows';

export interface LeaseKeeperOptions {
  leaseMs: number;
  /** Writes to the row at most this often. */
  intervalMs: number;
  renew(progress: JobProgress | undefined): Promise<LeaseState>;
  /** The lease is gone: another process may run the job already. */
  onLost(): void;
  onCancelRequested(): void;
  /** A renewal failed; it is tried again until the lease runs out. */
  onFault(error: unknown): void;
}

/**
 * Keeps the lease of one running job: renews it every third of its length, carries the newest progress into the row,
 * and hears of cancellations there. It counts the lease as lost by its own monotonic clock when the database can't be
 * reached for a whole lease, because another process will take the job by then.
 */
export class LeaseKeeper {
  private readonly timer: NodeJS.Timeout;
  private progress: JobProgress | undefined;
  private renewedAt = performance.now();
  private inFlight: Promise<void> | undefined;
  private ended = false;

  constructor(private readonly options: LeaseKeeperOptions) {
    this.timer = setInterval(() => this.tick(), options.intervalMs);
  }

  report(progress: JobProgress): void {
    this.progress = progress;
  }

  /** Stops renewing, and resolves when no write is under way. */
  async stop(): Promise<void> {
    this.ended = true;
    clearInterval(this.timer);
    await this.inFlight;
  }

  private tick(): void {
    const age = performance.now() - this.renewedAt;
    if (age > this.options.leaseMs) return this.lose();
    if (this.inFlight || (!this.progress && age < this.options.leaseMs / 3)) return;
    this.inFlight = this.renew().finally(() => (this.inFlight = undefined));
  }

  private async renew(): Promise<void> {
    const { progress } = this;
    // The lease counts from when it was asked for: the row's own count can only be later.
    const askedAt = performance.now();
    try {
      const state = await this.options.renew(progress);
      if (this.progress === progress) this.progress = undefined;
      if (this.ended) return;
      if (!state.held) return this.lose();
      this.renewedAt = askedAt;
      if (state.cancelRequested) this.options.onCancelRequested();
    } catch (error) {
      this.options.onFault(error);
    }
  }

  private lose(): void {
    if (this.ended) return;
    this.ended = true;
    clearInterval(this.timer);
    this.options.onLost();
  }
}
