import { Problem } from '@undertone/service';
import { reportsDeleted, type Store } from '@undertone/store';
import { tooFewReports } from './report-snapshot';

/** Whether a task has what a fit needs. */
export class CollectedReports {
  constructor(private readonly store: Pick<Store, 'tasks' | 'reports'>) {}

  /** @throws Problem `unknown-task`, `reports-deleted`, or `too-few-reports` below the task's minimum batch */
  async requireEnough(taskName: string): Promise<void> {
    const task = await this.store.tasks.find(taskName);
    if (!task) throw new Problem('unknown-task', `there is no task "${taskName}"`);
    if (task.reportsDroppedAt !== null) {
      throw new Problem('reports-deleted', reportsDeleted(taskName, task.reportsDroppedAt).message);
    }
    const reports = await this.store.reports.count(taskName);
    if (reports >= task.minimumBatch) return;
    throw new Problem('too-few-reports', tooFewReports(taskName, reports, task.minimumBatch).message);
  }
}
