import {
  decodeReport,
  LIMITS,
  ProtocolError,
  type RejectionReason,
  type Report,
  REPORT_SCHEMA,
} from '@undertone/protocol';
import { type LogEntry } from '@undertone/report-log';

import { reportFault } from '../reports/report-check';
import { type CollectionTask } from '../tasks/collection-task';

/** A log entry that belongs in the table. */
export interface StorableEntry {
  readonly offset: bigint;
  readonly arrivedAt: Date;
  readonly report: Report;
}

/** A log entry that can never be stored. */
export interface UnstorableEntry {
  readonly offset: bigint;
  /** Known tasks only. */
  readonly task: string | null;
  readonly reason: RejectionReason;
  /** Names the rule; holds nothing that a device sent. */
  readonly detail: string;
}

export interface CheckedEntries {
  readonly storable: readonly StorableEntry[];
  readonly unstorable: readonly UnstorableEntry[];
}

/**
 * What is admitted just before a task closes may reach the log a little later: the longest time that an append may
 * take, and the clocks of two machines apart. Before the opening likewise.
 */
export const ADMISSION_GRACE_MS = 60_000;

const RULES: Record<RejectionReason, string> = {
  malformed: 'the entry is not one report in the wire format',
  'wrong-task': 'no such task took reports when the entry arrived',
  'wrong-artifact': 'the task collects under another artifact',
  'impossible-payload': 'the randomiser of the task can’t have made the payload',
  'no-schema': `the entry has no header schema; it must say ${REPORT_SCHEMA}`,
  'unknown-schema': `the entry’s header schema is not ${REPORT_SCHEMA}`,
  'too-large': `the entry has more than the ${LIMITS.maximumReportBytes} bytes that a report can have`,
  'too-late': 'the reports of the task had been deleted when the entry was read',
};

/**
 * Judges log entries once more: the gateway isn't the only one that can write to a log, and a task may have been
 * closed. Throws only where a task can't be looked up.
 */
export async function checkEntries(
  entries: readonly LogEntry[],
  findTask: (name: string) => Promise<CollectionTask | undefined>,
): Promise<CheckedEntries> {
  const storable: StorableEntry[] = [];
  const unstorable: UnstorableEntry[] = [];
  const read = entries.map(readEntry);
  const tasks = await findTasks(read, findTask);
  entries.forEach(({ offset, appendedAt }, i) => {
    const refuse = (reason: RejectionReason, task: string | null): void => {
      unstorable.push({ offset, task, reason, detail: RULES[reason] });
    };
    const report = read[i];
    if (typeof report === 'string') return refuse(report, null);
    const task = tasks.get(report.task);
    if (task === undefined) return refuse('wrong-task', null);
    const reason = taskFault(task, appendedAt) ?? reportFault(report, task)?.reason;
    if (reason === undefined) storable.push({ offset, arrivedAt: appendedAt, report });
    else refuse(reason, task.name);
  });
  return { storable, unstorable };
}

const LOOK_UPS = 32;

/** All tasks that are named, known or not: whoever writes to a log may name thousands that don't exist. */
async function findTasks(
  read: readonly (Report | RejectionReason)[],
  findTask: (name: string) => Promise<CollectionTask | undefined>,
): Promise<Map<string, CollectionTask | undefined>> {
  const tasks = new Map<string, CollectionTask | undefined>();
  for (const report of read) if (typeof report !== 'string') tasks.set(report.task, undefined);
  const names = [...tasks.keys()];
  for (let i = 0; i < names.length; i += LOOK_UPS) {
    const some = names.slice(i, i + LOOK_UPS);
    const found = await Promise.all(some.map((name) => findTask(name)));
    some.forEach((name, j) => tasks.set(name, found[j]));
  }
  return tasks;
}

/** The report, or what can be said against the entry whatever task it is for. */
function readEntry({ schema, value }: LogEntry): Report | RejectionReason {
  if (schema === undefined) return 'no-schema';
  if (schema !== REPORT_SCHEMA) return 'unknown-schema';
  if (value.length > LIMITS.maximumReportBytes) return 'too-large';
  try {
    return decodeReport(value);
  } catch (error) {
    if (error instanceof ProtocolError) return 'malformed';
    throw error;
  }
}

/** What can be said against the time of a report, whatever it holds. */
function taskFault(task: CollectionTask, arrivedAt: Date): RejectionReason | undefined {
  if (!wasOpen(task, arrivedAt)) return 'wrong-task';
  return task.reportsDroppedAt === null ? undefined : 'too-late';
}

function wasOpen({ opensAt, closesAt }: CollectionTask, at: Date): boolean {
  const time = at.getTime();
  // Whoever wrote the entry may have given it a time that is none.
  if (!(time >= opensAt.getTime() - ADMISSION_GRACE_MS)) return false;
  return closesAt === null || time < closesAt.getTime() + ADMISSION_GRACE_MS;
}
