import { type LogPositions, type ReportLog } from '@undertone/report-log';

export interface SweepSettings {
  /** Pause between two sweeps. */
  readonly everyMs: number;
  /** Entries that one statement deletes at most. */
  readonly chunk: number;
  readonly onFailure: (error: unknown) => void;
  readonly onSwept?: (entries: number) => void;
}

/** Deletes log entries that the ingest is past, in short statements, so that nothing waits for a long one. */
export class ReportSweeper {
  private timer: NodeJS.Timeout | undefined;
  private sweeping: Promise<void> = Promise.resolve();
  private stopped = false;

  constructor(
    private readonly log: Pick<ReportLog, 'discard'>,
    private readonly positions: LogPositions,
    private readonly settings: SweepSettings,
  ) {}

  start(): void {
    this.timer = setTimeout(() => {
      this.sweeping = this.sweep()
        .then(this.settings.onSwept, this.settings.onFailure)
        .then(() => {
          if (!this.stopped) this.start();
        });
    }, this.settings.everyMs);
    this.timer.unref();
  }

  /** Resolves when no sweep runs and none will. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.sweeping;
  }

  /** Deletes all that can be deleted now, and resolves to how many entries that were. */
  async sweep(): Promise<number> {
    let swept = 0;
    while (!this.stopped) {
      const discarded = await this.log.discard(this.positions, this.settings.chunk);
      swept += discarded;
      if (discarded < this.settings.chunk) break;
    }
    return swept;
  }
}
