import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { JobError } from '@undertone/jobs';
import { type ReportRepository, StoreError } from '@undertone/store';

export interface SnapshotRequest {
  reports: Pick<ReportRepository, 'read'>;
  task: string;
  /** Reports received later aren't part of it. */
  upTo: Date;
  payloadBytes: number;
  minimumBatch: number;
  /** Where it goes. One that is there already stays: an attempt after a crash sees what the first one saw. */
  file: string;
}

/**
 * Writes the payloads of a task's reports, one after the other in the order of the reports' ids, and tells how many
 * there are. Neither ids nor times of receipt leave the database.
 *
 * @throws JobError `too-few-reports` below the task's minimum batch, `damaged-report` for a payload of another length,
 * `reports-deleted` where they are deleted meanwhile
 */
export async function snapshotReports(request: SnapshotRequest): Promise<number> {
  const { file, payloadBytes, minimumBatch, task } = request;
  const count = (await sizeOf(file)) ?? (await write(request));
  const reports = count / payloadBytes;
  if (reports >= minimumBatch) return reports;
  await rm(file, { force: true });
  throw tooFewReports(task, reports, minimumBatch);
}

export function tooFewReports(task: string, reports: number, minimumBatch: number): JobError {
  const plain = (n: number): string => n.toLocaleString('en-GB');
  return new JobError(
    'too-few-reports',
    `Task "${task}" has ${plain(reports)} report${reports === 1 ? '' : 's'} and nothing is fitted on fewer than ` +
      `${plain(minimumBatch)}, its minimum batch: wait for more.`,
  );
}

async function write({ reports, task, upTo, payloadBytes, file }: SnapshotRequest): Promise<number> {
  let bytes = 0;
  async function* payloads(): AsyncGenerator<Buffer> {
    for await (const batch of reports.read(task, { upTo })) {
      for (const { payload } of batch) {
        if (payload.length !== payloadBytes) {
          throw new JobError(
            'damaged-report',
            `A stored report of task "${task}" has ${payload.length} bytes and its mechanism's reports have ${payloadBytes}.`,
          );
        }
      }
      bytes += batch.length * payloadBytes;
      yield Buffer.concat(batch.map(({ payload }) => payload));
    }
  }
  const unfinished = `${file}.unfinished`;
  try {
    await writeFile(unfinished, payloads(), { mode: 0o600 });
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error instanceof StoreError && error.code === 'reports-deleted'
      ? new JobError(error.code, error.message)
      : error;
  }
  await rename(unfinished, file);
  return bytes;
}

async function sizeOf(file: string): Promise<number | undefined> {
  return stat(file).then(
    ({ size }) => size,
    () => undefined,
  );
}
