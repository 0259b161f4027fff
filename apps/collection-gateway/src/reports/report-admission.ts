import { type BatchReceipt, decodeBatch, type Rejection } from '@undertone/protocol';
import { type LogRecord } from '@undertone/report-log';

import { type OutcomeTally } from '../counts/outcome-counts';
import { type CollectionTask } from '../tasks/collection-task';
import { reportFault } from './report-check';

export interface AdmissionTargets {
  /** Resolves when the records are durable; their bytes may be views of a body that they are at least half of. */
  append(records: readonly LogRecord[]): Promise<void>;
  /** Resolves when the tallies are durable. */
  count(tallies: readonly OutcomeTally[]): Promise<void>;
}

/**
 * Takes in one request body for an open task: every good report is in the log, and every bad one is counted, when
 * the receipt is given.
 *
 * @throws ProtocolError where the body as a whole is no batch, ReportLogError where the log can't take it
 */
export async function admitReports(
  task: CollectionTask,
  body: Uint8Array,
  contentType: string | undefined,
  targets: AdmissionTargets,
): Promise<BatchReceipt> {
  const records: LogRecord[] = [];
  const rejected: Rejection[] = [];
  let acceptedBytes = 0;
  for (const { index, report, encoded, rejection } of decodeBatch(body, contentType)) {
    if (rejection) {
      rejected.push(rejection);
      continue;
    }
    const fault = reportFault(report, task);
    if (fault) {
      rejected.push({ index, id: Buffer.from(report.id).toString('hex'), ...fault });
    } else {
      records.push({ key: report.id, value: encoded });
      acceptedBytes += encoded.length;
    }
  }
  // A view holds the whole body in memory, of which the log counts, and bounds, what is accepted.
  await targets.append(2 * acceptedBytes < body.length ? copied(records) : records);
  // After the log: a body that the log could not take comes again, and its refusals must not count twice.
  if (rejected.length > 0) {
    await targets.count(rejected.map(({ reason }) => ({ task: task.name, outcome: reason, count: 1 })));
  }
  return { accepted: records.length, rejected };
}

/** The same records in memory of their own. */
function copied(records: readonly LogRecord[]): LogRecord[] {
  const memory = new Uint8Array(records.reduce((sum, { key, value }) => sum + key.length + value.length, 0));
  let at = 0;
  const copy = (bytes: Uint8Array): Uint8Array => {
    memory.set(bytes, at);
    return memory.subarray(at, (at += bytes.length));
  };
  return records.map(({ key, value }) => ({ key: copy(key), value: copy(value) }));
}
