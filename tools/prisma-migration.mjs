// Migrations from prisma/schema.prisma, without the download that `prisma migrate` needs.
//   node tools/prisma-migration.mjs new NAME     writes prisma/migrations/NNNN_NAME/migration.sql with what the schema asks for
//   node tools/prisma-migration.mjs check [--url URL]
//                                                fails when schema and migrations differ, or when the database at URL
//                                                has another history than `prisma migrate deploy` would expect
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const schemaFile = path.join(root, 'prisma', 'schema.prisma');
const migrationsFolder = path.join(root, 'prisma', 'migrations');
const NO_FILTERS = { externalTables: [], externalEnums: [] };

const migrationNames = () =>
  readdirSync(migrationsFolder, { withFileTypes: true })
    .filter((e) => e.isDirectory())
    .map((e) => e.name)
    .sort();

async function withDatabase(work) {
  const { build } = await import('./build.mjs');
  await build();
  const store = path.join(root, 'libs', 'platform', 'store', 'dist');
  const { EmbeddedDatabase } = require(path.join(store, 'embedded', 'embedded-database.js'));
  const { applyMigrations } = require(path.join(store, 'migrations', 'apply-migrations.js'));
  const home = mkdtempSync(path.join(tmpdir(), 'undertone-migration-'));
  const database = await EmbeddedDatabase.start({ home, durability: 'until-power-fails' });
  try {
    await applyMigrations(database.url);
    return await work(database.url);
  } finally {
    await database.stop();
    rmSync(home, { recursive: true, force: true });
  }
}

/** Prisma's schema engine as WebAssembly, on a database. */
async function schemaEngine(url) {
  const folder = path.dirname(require.resolve('@prisma/schema-engine-wasm'));
  const bindings = await import(path.join(folder, 'schema_engine_bg.js'));
  const { instance } = await WebAssembly.instantiate(
    readFileSync(path.join(folder, 'schema_engine_bg.wasm')),
    {
      './schema_engine_bg.js': bindings,
    },
  );
  globalThis.PRISMA_WASM_PANIC_REGISTRY = {
    set_message: (message) => console.error(`Prisma's schema engine failed: ${message}`),
  };
  bindings.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
  const {
    bindMigrationAwareSqlAdapterFactory,
    bindSqlAdapterFactory,
  } = require('@prisma/driver-adapter-utils');
  const bind = bindMigrationAwareSqlAdapterFactory ?? bindSqlAdapterFactory;
  return bindings.SchemaEngine.new(
    { datamodels: [['schema.prisma', readFileSync(schemaFile, 'utf8')]] },
    () => {},
    bind(catalogAdapter(url)),
  );
}

const CATALOG_CHAR = 18;
const TEXT = 25;

/** The adapter, taught the type "char" of PostgreSQL's catalogue, which the engine reads and the adapter doesn't know. */
function catalogAdapter(url) {
  const { PrismaPg } = require('@prisma/adapter-pg');
  const { ColumnTypeEnum } = require('@prisma/driver-adapter-utils');
  const factory = new PrismaPg({ connectionString: url });
  const connect = factory.connect.bind(factory);
  factory.connect = async () => {
    const adapter = await connect();
    const [performIO, queryRaw] = [adapter.performIO.bind(adapter), adapter.queryRaw.bind(adapter)];
    let characters = []; // of the query in flight: the engine asks one at a time
    adapter.performIO = async (query) => {
      const result = await performIO(query);
      characters = result.fields.flatMap((field, i) => (field.dataTypeID === CATALOG_CHAR ? [i] : []));
      for (const i of characters) result.fields[i].dataTypeID = TEXT;
      return result;
    };
    adapter.queryRaw = async (query) => {
      const result = await queryRaw(query);
      for (const i of characters) result.columnTypes[i] = ColumnTypeEnum.Character;
      return result;
    };
    return adapter;
  };
  return factory;
}

/** SQL from a migrated database to the schema; empty when they agree. */
async function difference(engine) {
  const schema = { files: [{ path: 'schema.prisma', content: readFileSync(schemaFile, 'utf8') }] };
  const { stdout } = await engine.diff({
    from: { tag: 'schemaDatasource', ...schema, configDir: root }, // the database behind the engine's adapter
    to: { tag: 'schemaDatamodel', ...schema },
    script: true,
    exitCode: null,
    filters: { externalTables: ['public._prisma_migrations'], externalEnums: [] },
  });
  const sql = (stdout ?? '').trim();
  return sql === '-- This is an empty migration.' ? '' : sql;
}

const migrationList = () => ({
  baseDir: migrationsFolder,
  lockfile: {
    path: 'migration_lock.toml',
    content: readFileSync(path.join(migrationsFolder, 'migration_lock.toml'), 'utf8'),
  },
  shadowDbInitScript: '',
  migrationDirectories: migrationNames().map((name) => ({
    path: name,
    migrationFile: {
      path: 'migration.sql',
      content: { tag: 'ok', value: readFileSync(path.join(migrationsFolder, name, 'migration.sql'), 'utf8') },
    },
  })),
});

async function writeNew(name) {
  if (!/^[a-z0-9_]+$/.test(name ?? '')) {
    throw new Error(
      `a migration's name is of a-z, 0-9 and _, for example add_task_owner; got "${name ?? ''}"`,
    );
  }
  const sql = await withDatabase(async (url) => difference(await schemaEngine(url)));
  if (sql === '') return console.log('The migrations already say what prisma/schema.prisma says.');
  const number = String(Number(migrationNames().at(-1)?.slice(0, 4) ?? 0) + 1).padStart(4, '0');
  const folder = path.join(migrationsFolder, `${number}_${name}`);
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'migration.sql'), `${sql}\n`);
  console.log(`${path.relative(root, folder)}/migration.sql: read it, add what Prisma can't say, commit it.`);
}

async function check(url) {
  const problems = await (url === undefined ? withDatabase(differences) : differences(url));
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
  else console.log('Schema, migrations and history agree.');
}

async function differences(url) {
  const engine = await schemaEngine(url);
  const problems = [];
  const sql = await difference(engine);
  if (sql !== '') problems.push(`prisma/schema.prisma asks for more than the migrations:\n${sql}`);
  const history = await engine.diagnoseMigrationHistory({
    migrationsList: migrationList(),
    optInToShadowDatabase: false,
    filters: NO_FILTERS,
  });
  if (
    history.history !== null ||
    history.failedMigrationNames.length ||
    history.editedMigrationNames.length
  ) {
    problems.push(`Prisma finds another history than the folder's:\n${JSON.stringify(history, null, 2)}`);
  } else {
    const { appliedMigrationNames } = await engine.applyMigrations({
      migrationsList: migrationList(),
      filters: NO_FILTERS,
    });
    if (appliedMigrationNames.length) problems.push(`Prisma applied ${appliedMigrationNames.join(', ')}`);
  }
  return problems;
}

const [action, ...rest] = process.argv.slice(2);
const actions = {
  new: () => writeNew(rest[0]),
  check: () => check(rest[0] === '--url' ? rest[1] : undefined),
};
if (!Object.hasOwn(actions, action ?? '')) {
  console.error('usage: node tools/prisma-migration.mjs new NAME | check [--url URL]');
  process.exit(2);
}
try {
  await actions[action]();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
process.exit(); // the engine's connections would keep the process waiting
