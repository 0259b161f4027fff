import { randomBytes } from 'node:crypto';
import { administer, startTestServer, TEMPLATE, type TestServer } from './test-server';

export const SERVER_VARIABLE = 'TEST_POSTGRES_ADMIN_URL';

/** A migrated, empty database of a real PostgreSQL. */
export interface TestDatabase {
  readonly url: string;
  /** Drops it, open connections and all. */
  stop(): Promise<void>;
}

/**
 * A fresh database with all migrations applied, about 0.1 s. Jest's `postgres` project shares one server; elsewhere (a benchmark, a
 * script) a server is started for it and stops with it.
 */
export async function startTestDatabase(): Promise<TestDatabase> {
  const shared = process.env[SERVER_VARIABLE];
  const own: TestServer | undefined = shared === undefined ? await startTestServer() : undefined;
  const adminUrl = shared ?? own!.adminUrl;
  const name = `test_${randomBytes(8).toString('hex')}`;
  await administer(adminUrl, `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    stop: async () => {
      await administer(adminUrl, untilUnused(name));
      await (own === undefined ? administer(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`) : own.stop());
    },
  };
}

/**
 * Waits for connections that are ending, half a second at most. A pool says that it has ended before they have; cut then, one says so to
 * nobody, which fails the spec.
 */
const untilUnused = (name: string): string => `
  DO $$ BEGIN
    FOR i IN 1..100 LOOP
      PERFORM pg_stat_clear_snapshot();
      EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = '${name}');
      PERFORM pg_sleep(0.005);
    END LOOP;
  END $$`;

/** As startTestDatabase, without a single table in it. */
export async function startEmptyDatabase(): Promise<TestDatabase> {
  const database = await startTestDatabase();
  await administer(database.url, 'DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  return database;
}
