import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { EmbeddedDatabase } from '../src/embedded/embedded-database';
import { applyMigrations } from '../src/migrations/apply-migrations';

/** A migrated database that fresh ones are copied from. */
export const TEMPLATE = 'undertone_template';

/** A PostgreSQL server that is thrown away when it stops. */
export interface TestServer {
  /** `postgresql://…` of the database `postgres`. */
  readonly adminUrl: string;
  stop(): Promise<void>;
}

export async function startTestServer(): Promise<TestServer> {
  const home = mkdtempSync(path.join(tmpdir(), 'undertone-test-'));
  const discard = (): void => rmSync(home, { recursive: true, force: true });
  try {
    const server = await EmbeddedDatabase.start({ home, durability: 'until-power-fails' });
    await server.createDatabase(TEMPLATE);
    await applyMigrations(server.urlOf(TEMPLATE));
    return {
      adminUrl: server.urlOf('postgres'),
      stop: async () => {
        await server.stop();
        discard();
      },
    };
  } catch (error) {
    discard();
    throw error;
  }
}

export async function administer(adminUrl: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
