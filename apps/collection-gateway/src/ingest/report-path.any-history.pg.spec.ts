import { PostgresReportLog } from '@undertone/report-log';
import { startTestDatabase, type TestDatabase } from '@undertone/store/testing';
import fc from 'fast-check';
import { Pool } from 'pg';

import { CrashingPool } from '../../test/crashing-pool';
import { operations, type PathUnderTest, playHistory } from '../../test/report-path';
import { emptyTables, readTables } from '../../test/tables';
import { ReportWriter } from './report-writer';

let database: TestDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await startTestDatabase();
  pool = new Pool({ connectionString: database.url, max: 8 });
});
afterAll(async () => {
  await pool.end();
  await database.stop();
});

async function postgresPath(): Promise<PathUnderTest> {
  await emptyTables(pool);
  const settings = { pool, idleMs: [1, 4], retryMs: [1, 4], maximumBatch: 5 } as const;
  const crashing = new CrashingPool(pool);
  return {
    openLog: (onFailure) => new PostgresReportLog({ ...settings, onFailure }),
    openSink: (consumer) => new ReportWriter(crashing.asPool(), consumer),
    crashIngest: (point) => crashing.crashAt(point),
    tables: () => readTables(pool),
  };
}

it('in PostgreSQL, each acknowledged report is stored once and each outcome counts once', async () => {
  await fc.assert(
    fc.asyncProperty(operations, async (history) => playHistory(await postgresPath(), history)),
    { numRuns: 25 },
  );
}, 60_000);
