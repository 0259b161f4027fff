import { Problem } from '@undertone/service';
import { type Store } from '@undertone/store';
import { tooFewReports } from './report-snapshot';

/** Whether a task has what a fit needs. */
export class CollectedReports {
  constructor(private readonly store: Pick<Store, 'tasks' | 'reports'>) {}

  /** @throws Problem `unknown-task`, or `too-few-reports` below the task's minimum batch */
  async requireEnough(taskName: string): Promise<void> {
    const task = await this.store.tasks.find(taskName);
    if (!task) throw new Problem('unknown-task', `there is no task "${taskName}"`);
    const reports = await this.store.reports.count(taskName);
    if (reports >= task.minimumBatch) return;
    throw new Problem('too-few-reports', tooFewReports(taskName, reports, task.minimumBatch).message);
  }
}
