import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MIGRATIONS_FOLDER, readMigrations } from './migration-folder';

describe('readMigrations', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), 'migrations-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  const write = (name: string, sql = 'SELECT 1;'): void => {
    mkdirSync(path.join(folder, name));
    writeFileSync(path.join(folder, name, 'migration.sql'), sql);
  };

  it('gives them in order with the checksum of the file as it lies on the disk', () => {
    write('0002_b', 'SELECT 2; -- ε\r\n');
    write('0001_a');
    const migrations = readMigrations(folder);
    expect(migrations.map(({ name }) => name)).toEqual(['0001_a', '0002_b']);
    const sum = execFileSync('sha256sum', [path.join(folder, '0002_b', 'migration.sql')], {
      encoding: 'utf8',
    });
    expect(migrations[1].checksum).toBe(sum.split(' ')[0]);
  });

  it('reads those of this repository', () => {
    expect(readMigrations(MIGRATIONS_FOLDER).length).toBeGreaterThan(0);
  });

  it.each([
    ['a name of another form', () => write('add_things'), /"add_things" must be named like 0002_add_what/],
    ['a number twice', () => (write('0001_a'), write('0001_b')), /two migrations have the number 0001/],
    ['a missing file', () => mkdirSync(path.join(folder, '0001_a')), /0001_a has no readable migration.sql/],
    ['a commit', () => write('0001_a', 'CREATE TABLE t ();\ncommit ;'), /0001_a says "commit ;"/],
    ['a missing folder', () => rmSync(folder, { recursive: true }), /can't be read/],
  ])('refuses %s', (_what, prepare, message) => {
    prepare();
    expect(() => readMigrations(folder)).toThrow(message);
    mkdirSync(folder, { recursive: true });
  });

  it('lets a function have its own BEGIN and END, and a comment its words', () => {
    write(
      '0001_a',
      `-- commit;\nCREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $body$\nBEGIN\n  RETURN 1;\nEND;\n$body$;`,
    );
    expect(readMigrations(folder)[0].runs).toBe('in-a-transaction');
  });

  it('knows one that runs alone by its first line', () => {
    write('0001_a', '-- runs alone\nCREATE INDEX CONCURRENTLY i ON t (x);');
    expect(readMigrations(folder)[0].runs).toBe('alone');
  });
});
