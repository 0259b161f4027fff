import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { reasonOf, StoreError } from '../store-error';

/** `prisma/migrations` of this repository. */
export const MIGRATIONS_FOLDER = path.resolve(
  __dirname,
  '..',
  '..',
  '..',
  '..',
  '..',
  'prisma',
  'migrations',
);

export interface Migration {
  /** The folder's name, `NNNN_what`; migrations are applied in the order of their names. */
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the file, as Prisma computes it. */
  readonly checksum: string;
  readonly runs: 'in-a-transaction' | 'alone';
}

const NAME = /^\d{4}_[a-z0-9_]+$/;
const TRANSACTION_STATEMENT = /^\s*(begin|start\s+transaction|commit|rollback|end)\b[^;]*;/im;

/**
 * A file whose first line is `-- runs alone` holds the one statement that PostgreSQL refuses inside a transaction, such as
 * CREATE INDEX CONCURRENTLY.
 */
const ALONE = /^-- runs alone\b/;

/** @throws StoreError 'migration-invalid' */
export function readMigrations(folder: string): Migration[] {
  let names: string[];
  try {
    names = readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
      .sort();
  } catch (error) {
    throw invalid(`the migrations in ${folder} can't be read: ${reasonOf(error)}`, error);
  }
  const numbers = new Set<string>();
  return names.map((name) => {
    if (!NAME.test(name)) {
      throw invalid(
        `the migration folder "${name}" must be named like 0002_add_what: four digits, then a-z, 0-9 and _`,
      );
    }
    const number = name.slice(0, 4);
    if (numbers.has(number))
      throw invalid(`two migrations have the number ${number}; give the later one the next number`);
    numbers.add(number);
    return readMigration(folder, name);
  });
}

function readMigration(folder: string, name: string): Migration {
  const file = path.join(folder, name, 'migration.sql');
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw invalid(`the migration ${name} has no readable migration.sql: ${reasonOf(error)}`, error);
  }
  const sql = bytes.toString('utf8');
  const runs = ALONE.test(sql) ? 'alone' : 'in-a-transaction';
  const found = runs === 'alone' ? null : TRANSACTION_STATEMENT.exec(withoutFunctionBodies(sql));
  if (found !== null) {
    throw invalid(
      `the migration ${name} says "${found[0].trim()}"; it runs in one transaction that it must not end or start`,
    );
  }
  return { name, sql, runs, checksum: createHash('sha256').update(bytes).digest('hex') };
}

const withoutFunctionBodies = (sql: string): string =>
  sql.replace(/(\$[A-Za-z_]*\$)[\s\S]*?\1/g, '').replace(/--.*$/gm, '');

const invalid = (message: string, cause?: unknown): StoreError =>
  new StoreError('migration-invalid', message, { cause });
