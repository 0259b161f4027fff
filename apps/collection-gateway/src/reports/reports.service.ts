import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type Metrics } from '@undertone/observability';
import { type BatchReceipt, ProtocolError } from '@undertone/protocol';
import { GroupCommit, type ReportLog } from '@undertone/report-log';
import { Problem } from '@undertone/service';
import { type Pool } from 'pg';

import { addOutcomes, type OutcomeTally, SHARDS } from '../counts/outcome-counts';
import { type CollectionTask } from '../tasks/collection-task';
import { type TasksService } from '../tasks/tasks.service';
import { admitReports } from './report-admission';

const MAXIMUM_WAITING_TALLIES = 100_000;

/** Takes report bodies in at the edge. */
@Injectable()
export class ReportsService implements OnApplicationShutdown {
  private readonly tallies: GroupCommit<OutcomeTally>;
  private readonly countAdmitted: (admitted: number) => void;

  constructor(
    private readonly tasks: TasksService,
    private readonly log: ReportLog,
    pool: Pool,
    metrics: Metrics,
  ) {
    const shard = Math.floor(Math.random() * SHARDS);
    const reports = metrics.counter({
      name: 'undertone_gateway_reports_total',
      help: 'Reports at the edge: accepted into the log, or refused with a reason.',
      labels: ['outcome'],
    });
    this.countAdmitted = (admitted) => reports.inc({ outcome: 'accepted' }, admitted);
    this.tallies = new GroupCommit<OutcomeTally>({
      write: async (tallies) => {
        await addOutcomes(pool, tallies, shard);
        for (const { outcome, count } of tallies) reports.inc({ outcome }, count);
      },
      maximumWaiting: MAXIMUM_WAITING_TALLIES,
      maximumWaitingBytes: Number.MAX_SAFE_INTEGER,
      maximumGroup: MAXIMUM_WAITING_TALLIES,
      maximumWaitMs: 20_000,
      bytesOf: () => 0,
    });
  }

  /**
   * @throws Problem `unknown-task`, `scheduled-task` or `closed-task`; ProtocolError where the body is no batch;
   *   ReportLogError where it can't be made durable now
   */
  async receive(
    taskName: string,
    body: Uint8Array,
    content: { type: string | undefined; encoding: string | undefined },
  ): Promise<BatchReceipt> {
    const task = this.tasks.known(taskName) ?? (await this.tasks.find(taskName));
    requireOpen(task);
    requirePlain(content.encoding);
    const receipt = await admitReports(task, body, content.type, {
      append: (records) => this.log.append(records),
      count: (tallies) => this.tallies.add(tallies),
    });
    this.countAdmitted(receipt.accepted);
    return receipt;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.tallies.close();
  }
}

function requireOpen({ name, opensAt, closesAt }: CollectionTask): void {
  const now = Date.now();
  if (now < opensAt.getTime()) {
    throw new Problem('scheduled-task', `task ${name} opens at ${opensAt.toISOString()}`);
  }
  if (closesAt !== null && now >= closesAt.getTime()) {
    throw new Problem('closed-task', `task ${name} closed at ${closesAt.toISOString()}`);
  }
}

function requirePlain(encoding: string | undefined): void {
  if (encoding === undefined || encoding.trim().toLowerCase() === 'identity') return;
  throw new ProtocolError(
    'unsupported-media-type',
    `the body has Content-Encoding ${encoding}; reports are taken uncompressed`,
  );
}
