import { startTestDatabase, type TestDatabase } from '@undertone/store/testing';
import { Pool } from 'pg';

import { postgresPath } from '../../test/postgres-path';
import { playHistories } from '../../test/report-path';
import { OBSERVER } from '../../test/tables';

let database: TestDatabase;
let observer: Pool;

beforeAll(async () => {
  database = await startTestDatabase();
  observer = new Pool({ connectionString: database.url, max: 4, application_name: OBSERVER });
});
afterAll(async () => {
  await observer.end();
  await database.stop();
});

it('in PostgreSQL, each acknowledged report is stored once and each outcome counts once', async () => {
  await playHistories(() => postgresPath(database.url, observer), { runs: 40 });
}, 120_000);
