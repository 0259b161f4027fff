import { type LogPositions, type ReportLog } from '@undertone/report-log';

import { Recurring, type RecurringSettings } from '../recurring/recurring';

export interface SweepSettings extends RecurringSettings {
  /** Entries that one statement deletes at most. */
  readonly chunk: number;
  readonly onSwept?: (entries: number) => void;
}

/** Deletes log entries that the ingest is past, in short statements, so that nothing waits for a long one. */
export class ReportSweeper {
  private readonly recurring: Recurring;

  constructor(
    private readonly log: Pick<ReportLog, 'discard'>,
    private readonly positions: LogPositions,
    private readonly settings: SweepSettings,
  ) {
    this.recurring = new Recurring(async () => {
      const swept = await this.sweep();
      settings.onSwept?.(swept);
    }, settings);
  }

  start(): void {
    this.recurring.start();
  }

  /** Resolves when no sweep runs and none will. */
  async stop(): Promise<void> {
    await this.recurring.stop();
  }

  /** Deletes all that can be deleted now, and resolves to how many entries that were. */
  async sweep(): Promise<number> {
    let swept = 0;
    while (!this.recurring.isStopped) {
      const discarded = await this.log.discard(this.positions, this.settings.chunk);
      swept += discarded;
      if (discarded < this.settings.chunk) break;
    }
    return swept;
  }
}
