import { type RejectionReason, type Report } from '@undertone/protocol';

import { type CollectionTask } from '../tasks/collection-task';

/** Why a report can never be stored. */
export interface Fault {
  readonly reason: RejectionReason;
  /** For the sender: names the field and the rule. */
  readonly detail: string;
}

/** What the task's artifact and randomiser say against a well-formed report; `undefined` where it may be stored. */
export function reportFault(report: Report, task: CollectionTask): Fault | undefined {
  if (report.task !== task.name) {
    return {
      reason: 'wrong-task',
      detail: `task: is ${report.task}, but the report was sent to ${task.name}`,
    };
  }
  if (report.artifact !== task.artifact) {
    return {
      reason: 'wrong-artifact',
      detail: `artifact: is ${report.artifact}, but ${task.name} collects under ${task.artifact}`,
    };
  }
  const fault = task.randomiser.fault(report.payload);
  return fault === undefined ? undefined : { reason: 'impossible-payload', detail: `payload: ${fault}` };
}
