import { type LogRecord, MemoryReportLog, type ReportLog, ReportLogError } from '@undertone/report-log';

import { CrashPlan } from './crash-plan';
import { type Breakage } from './history';
import { type LoggedEntry } from './log-ledger';
import { MemoryEntrySink, MemoryTables } from './memory-entry-sink';
import { type PathUnderTest } from './report-path';
import { FOREIGN_VALUES } from './sample-entries';

const SETTINGS = { idleMs: [1, 2], retryMs: [1, 4], maximumBatch: 5 } as const;

/** The memory log over the twin of the tables; while its log is broken, appends fail. */
export function memoryPath(): PathUnderTest {
  const store = new MemoryReportLog({ ...SETTINGS, partitions: 3, onFailure: () => undefined });
  const tables = new MemoryTables();
  const plan = new CrashPlan();
  let breakage: Breakage | undefined;
  return {
    plan,
    commitsOffsets: false,
    repeats: 'never',
    patienceMs: 5_000,
    foreign: FOREIGN_VALUES,
    open: async (process, onFailure) => ({
      log: breakable(store.reopen({ ...SETTINGS, onFailure }), () => breakage),
      sink: new MemoryEntrySink(tables, plan, process),
      stop: async () => undefined,
      close: async () => undefined,
    }),
    smuggle: ({ key, value }) => store.append([{ key: key!, value: value! }]),
    entries: () => readThrough(store),
    tables: async () => tables.read(),
    breakLog: async (how) => {
      breakage = how;
      return async () => void (breakage = undefined);
    },
    cutDatabase: async () => void tables.connections++,
  };
}

function breakable(log: ReportLog, breakage: () => Breakage | undefined): ReportLog {
  const append = async (records: readonly LogRecord[]): Promise<void> => {
    const how = breakage();
    if (how === undefined) return log.append(records);
    const written = {
      'nothing written': 0,
      'half written': records.length >> 1,
      'all written': records.length,
    };
    await log.append(records.slice(0, written[how]));
    throw new ReportLogError('report-log-unavailable', 'The report log is away.', 1);
  };
  return new Proxy(log, {
    get(on, name) {
      if (name === 'append') return append;
      const value: unknown = Reflect.get(on, name, on);
      return typeof value === 'function' ? (value.bind(on) as unknown) : value;
    },
  });
}

/** By a consumer of its own, from the oldest entry that is left. */
async function readThrough(store: MemoryReportLog): Promise<LoggedEntry[]> {
  const log = store.reopen({ ...SETTINGS, onFailure: () => undefined });
  const positionOf = async (): Promise<undefined> => undefined;
  const count = await log.lag({ positionOf });
  const entries: LoggedEntry[] = [];
  if (count === 0) return entries;
  await new Promise<void>((resolve) => {
    log.subscribe({
      name: 'witness',
      positionOf,
      handle: async (batch) => {
        for (const entry of batch.entries) entries.push({ partition: batch.partition, ...entry });
        if (entries.length >= count) resolve();
      },
    });
  });
  await log.close();
  return entries;
}
