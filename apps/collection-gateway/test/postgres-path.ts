import { PostgresReportLog } from '@undertone/report-log';
import { outliveConnections } from '@undertone/store';
import { Pool } from 'pg';

import { ReportWriter } from '../src/ingest/report-writer';
import { CrashPlan } from './crash-plan';
import { CrashingPool } from './crashing-pool';
import { type LoggedEntry } from './log-ledger';
import { type PathUnderTest } from './report-path';
import { FOREIGN_VALUES } from './sample-entries';
import { type SimulatedProcess } from './simulated-process';
import { cutConnections, emptyTables, readTables } from './tables';
import { REPORT_SCHEMA } from '@undertone/protocol';

const SETTINGS = { idleMs: [1, 4], retryMs: [1, 4], maximumBatch: 5 } as const;

/** The pool of a gateway: its connections are lost with its process. */
export function processPool(url: string, process: SimulatedProcess): Pool {
  const pool = new Pool({ connectionString: url, max: 6, stream: () => process.socket() });
  outliveConnections(pool);
  return pool;
}

/** Log and tables in one PostgreSQL, whose log is broken by cutting every connection. */
export async function postgresPath(url: string, own: Pool): Promise<PathUnderTest> {
  await emptyTables(own);
  const plan = new CrashPlan();
  const foreign = new PostgresReportLog({ ...SETTINGS, pool: own, onFailure: () => undefined });
  return {
    plan,
    commitsOffsets: false,
    repeats: 'never',
    patienceMs: 10_000,
    foreign: FOREIGN_VALUES,
    open: async (process, onFailure) => {
      const pool = processPool(url, process);
      const log = new PostgresReportLog({ ...SETTINGS, pool, onFailure });
      return {
        log,
        sink: new ReportWriter(new CrashingPool(pool, plan, process).asPool(), log.name),
        stop: async () => undefined,
        close: () => pool.end(),
      };
    },
    smuggle: ({ key, value }) => foreign.append([{ key: key!, value: value! }]),
    entries: () => readLog(own),
    tables: () => readTables(own),
    breakLog: async () => {
      await cutConnections(own);
      return () => cutConnections(own);
    },
    cutDatabase: () => cutConnections(own),
  };
}

async function readLog(pool: Pool): Promise<LoggedEntry[]> {
  const { rows } = await pool.query<{ partition: number; log_offset: string; value: Buffer }>(
    'SELECT partition, log_offset, value FROM report_log_entries',
  );
  return rows.map(({ partition, log_offset, value }) => ({
    partition,
    offset: BigInt(log_offset),
    value,
    schema: REPORT_SCHEMA,
  }));
}
