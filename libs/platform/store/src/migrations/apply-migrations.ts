import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { codeOf, reasonOf, StoreError } from '../store-error';
import { type Migration, MIGRATIONS_FOLDER, readMigrations } from './migration-folder';

// The lock that Prisma takes for `migrate deploy`: the two exclude each other.
const PRISMA_LOCK = 72707369;

// As Prisma makes it.
const CREATE_HISTORY = `
CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id                  VARCHAR(36) PRIMARY KEY NOT NULL,
  checksum            VARCHAR(64) NOT NULL,
  finished_at         TIMESTAMPTZ,
  migration_name      VARCHAR(255) NOT NULL,
  logs                TEXT,
  rolled_back_at      TIMESTAMPTZ,
  started_at          TIMESTAMPTZ NOT NULL DEFAULT now(),
  applied_steps_count INTEGER NOT NULL DEFAULT 0
)`;

interface HistoryRow {
  migration_name: string;
  checksum: string;
  finished_at: Date | null;
  logs: string | null;
}

export interface MigrationOutcome {
  /** Names of the migrations applied by this call, in order. */
  readonly applied: readonly string[];
  /** How many there were before it. */
  readonly present: number;
}

/**
 * Brings a database to the state of the migrations folder. Keeps Prisma's own history table, so that `prisma migrate deploy`
 * carries on where this stopped, and the other way round. Several callers may race: one applies, the others wait.
 *
 * Each migration and its history row are one transaction, so a failure leaves nothing behind. A migration that runs alone
 * (see readMigrations) can stop half-way; that is detected at the next call.
 *
 * @throws StoreError 'migration-changed', 'migration-missing', 'migration-out-of-order', 'migration-half-applied',
 * 'migration-failed', 'migration-invalid', 'migration-lock-timeout', 'not-our-database' or 'database-unreachable'
 */
export async function applyMigrations(
  url: string,
  folder: string = MIGRATIONS_FOLDER,
  options: { lockTimeoutMs?: number } = {},
): Promise<MigrationOutcome> {
  const migrations = readMigrations(folder);
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    throw new StoreError('database-unreachable', `the database can't be reached: ${reasonOf(error)}`, {
      cause: error,
    });
  }
  try {
    await takeLock(client, options.lockTimeoutMs ?? 60_000);
    const history = await readHistory(client);
    refuseUnfinished(history);
    refuseDeparture(history, migrations, folder);
    const known = new Set(history.map((row) => row.migration_name));
    const pending = migrations.filter(({ name }) => !known.has(name));
    for (const migration of pending) await apply(client, migration);
    return { applied: pending.map(({ name }) => name), present: history.length };
  } finally {
    await client.end(); // ends the session and with it the lock
  }
}

async function takeLock(client: Client, timeoutMs: number): Promise<void> {
  await client.query(`SELECT set_config('lock_timeout', $1, false)`, [`${timeoutMs}ms`]);
  try {
    await client.query('SELECT pg_advisory_lock($1)', [PRISMA_LOCK]);
  } catch (error) {
    if (codeOf(error) !== '55P03') throw error;
    throw new StoreError(
      'migration-lock-timeout',
      `another process has been migrating this database for ${timeoutMs} ms. Wait for it, or end it, and start again.`,
    );
  }
  await client.query('RESET lock_timeout');
}

async function readHistory(client: Client): Promise<HistoryRow[]> {
  const { rows } = await client.query<{ history: string | null; tables: string }>(
    `SELECT to_regclass('_prisma_migrations')::text AS history,
            (SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()) AS tables`,
  );
  if (rows[0].history === null) {
    if (Number(rows[0].tables) > 0) {
      throw new StoreError(
        'not-our-database',
        'the database holds tables and no migration history, so it belongs to something else. Set DATABASE_URL to an empty database.',
      );
    }
    await client.query(CREATE_HISTORY);
  }
  const history = await client.query<HistoryRow>(
    `SELECT migration_name, checksum, finished_at, logs FROM _prisma_migrations
     WHERE rolled_back_at IS NULL ORDER BY started_at, migration_name`,
  );
  return history.rows;
}

function refuseUnfinished(history: readonly HistoryRow[]): void {
  const unfinished = history.find((row) => row.finished_at === null);
  if (unfinished === undefined) return;
  const name = unfinished.migration_name;
  throw new StoreError(
    'migration-half-applied',
    `the migration ${name} was started and did not finish${unfinished.logs ? ` (${unfinished.logs})` : ''}. ` +
      'Undo by hand what it did, then let it run again: ' +
      `UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = '${name}' AND finished_at IS NULL;`,
  );
}

function refuseDeparture(
  history: readonly HistoryRow[],
  migrations: readonly Migration[],
  folder: string,
): void {
  const byName = new Map(migrations.map((m) => [m.name, m]));
  for (const row of history) {
    const migration = byName.get(row.migration_name);
    if (migration === undefined) {
      throw new StoreError(
        'migration-missing',
        `the database has the migration ${row.migration_name}, and ${folder} hasn't. ` +
          'Run the version of the program that has it, or a newer one.',
      );
    }
    if (migration.checksum !== row.checksum) {
      throw new StoreError(
        'migration-changed',
        `the migration ${row.migration_name} is not the one that was applied (checksum ${migration.checksum.slice(0, 12)}…, ` +
          `applied ${row.checksum.slice(0, 12)}…). Put its file back as it was; changes go into a new migration.`,
      );
    }
  }
  const applied = new Set(history.map((row) => row.migration_name));
  const last = [...applied].sort().at(-1);
  const late = migrations.find(({ name }) => !applied.has(name) && last !== undefined && name < last);
  if (late !== undefined) {
    throw new StoreError(
      'migration-out-of-order',
      `the migration ${late.name} comes before ${last}, which the database already has. Give it the next free number.`,
    );
  }
}

async function apply(client: Client, migration: Migration): Promise<void> {
  const id = randomUUID();
  const start = (): Promise<unknown> =>
    client.query(
      'INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at) VALUES ($1, $2, $3, clock_timestamp())',
      [id, migration.checksum, migration.name],
    );
  const finish = (): Promise<unknown> =>
    client.query(
      'UPDATE _prisma_migrations SET finished_at = clock_timestamp(), applied_steps_count = 1 WHERE id = $1',
      [id],
    );
  try {
    if (migration.runs === 'in-a-transaction') {
      await client.query('BEGIN');
      await start();
      await client.query(migration.sql);
      await finish();
      await client.query('COMMIT');
    } else {
      await start();
      await client.query(migration.sql);
      await finish();
    }
  } catch (error) {
    if (migration.runs === 'in-a-transaction') await client.query('ROLLBACK').catch(() => undefined);
    else {
      await client
        .query('UPDATE _prisma_migrations SET logs = $2 WHERE id = $1', [id, reasonOf(error)])
        .catch(() => undefined);
    }
    throw new StoreError(
      'migration-failed',
      `the migration ${migration.name} failed: ${reasonOf(error)}${positionOf(error, migration.sql)}. ` +
        (migration.runs === 'in-a-transaction'
          ? 'Nothing of it was kept.'
          : 'It may have been applied in part.'),
      { cause: error },
    );
  }
}

/** PostgreSQL tells the place as a character offset from 1. */
function positionOf(error: unknown, sql: string): string {
  const position = Number((error as { position?: string }).position ?? Number.NaN);
  return Number.isInteger(position) ? ` (line ${sql.slice(0, position - 1).split('\n').length})` : '';
}
