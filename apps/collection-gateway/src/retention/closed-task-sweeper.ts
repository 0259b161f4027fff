import { type DroppedReports, type ReportPartitions } from '@undertone/store';

import { Recurring, type RecurringSettings } from '../recurring/recurring';

const DAY_MS = 86_400_000;

/** By then every process knows that a task's reports are being deleted. */
const GRACE_MS = 60_000;

export interface ClosedTaskSettings extends RecurringSettings {
  /** Days after the end of a task for which its reports are kept. */
  readonly keepDays: number;
  /** Time between saying that a task's reports are deleted and deleting them; 60,000 unless given. */
  readonly graceMs?: number;
  /** Told of tasks whose reports are about to be deleted. */
  readonly onExpired?: (tasks: readonly string[]) => void;
  readonly onDropped?: (dropped: DroppedReports) => void;
}

/** Deletes the reports of tasks that closed long enough ago, those of one task a sweep. What was counted stays. */
export class ClosedTaskSweeper {
  private readonly recurring: Recurring;

  constructor(
    private readonly partitions: Pick<ReportPartitions, 'expire' | 'dropOne'>,
    private readonly settings: ClosedTaskSettings,
  ) {
    this.recurring = new Recurring(() => this.sweep(), settings);
  }

  start(): void {
    this.recurring.start();
  }

  /** Resolves when no sweep runs and none will. */
  async stop(): Promise<void> {
    await this.recurring.stop();
  }

  async sweep(): Promise<void> {
    const { keepDays, graceMs = GRACE_MS, onExpired, onDropped } = this.settings;
    const now = Date.now();
    const expired = await this.partitions.expire(new Date(now - keepDays * DAY_MS));
    if (expired.length > 0) onExpired?.(expired);
    const dropped = await this.partitions.dropOne(new Date(now - graceMs));
    if (dropped !== undefined) onDropped?.(dropped);
  }
}
