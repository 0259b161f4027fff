import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { codeOf, reasonOf, StoreError } from '../store-error';
import { type PostgresBinaries } from './postgres-binaries';
import { placeFor } from './outside-places';
import { endsWithin, isRunning, programOf } from './running-process';
import { firstClosedFolder, type ServerAccount } from './server-account';

export const ROLE = 'undertone';
const LOG_LIMIT_BYTES = 16 * 1024 * 1024;

/** Where things lie below the home of one embedded database. */
export class DataFolder {
  readonly home: string;
  readonly lockFile: string;
  readonly logFile: string;
  private readonly link: string;
  private readonly passwordFile: string;

  constructor(home: string) {
    this.home = path.resolve(home);
    this.link = path.join(this.home, 'postgres');
    this.lockFile = path.join(this.home, 'postgres.lock');
    this.logFile = path.join(this.home, 'postgres.log');
    this.passwordFile = path.join(this.home, 'postgres.password');
  }

  /** Makes the home. @throws StoreError 'data-folder-not-writable' or 'disk-full' */
  open(): void {
    this.writing(() => {
      accessSync(nearestExisting(this.home), constants.W_OK); // a recursive mkdir hides why it failed
      mkdirSync(this.home, { recursive: true, mode: 0o755 });
      const probe = path.join(this.home, `.writable-${randomBytes(6).toString('hex')}`);
      try {
        writeFileSync(probe, 'x');
      } finally {
        rmSync(probe, { force: true });
      }
      if (sizeOf(this.logFile) > LOG_LIMIT_BYTES) renameSync(this.logFile, `${this.logFile}.1`);
    });
  }

  /** The data folder itself; `postgres` in the home may be a link to it. */
  path(): string {
    return isLink(this.link) ? path.resolve(this.home, readlinkSync(this.link)) : this.link;
  }

  isInitialised(): boolean {
    return existsSync(path.join(this.path(), 'PG_VERSION'));
  }

  /** @throws StoreError 'password-missing' */
  password(): string {
    try {
      return readFileSync(this.passwordFile, 'utf8').trim();
    } catch (error) {
      throw new StoreError(
        'password-missing',
        `${this.passwordFile} can't be read, and the database in ${this.path()} opens with its content only: ${reasonOf(error)}. ` +
          `Put the file back, or move ${this.link} away to start with an empty database.`,
        { cause: error },
      );
    }
  }

  /**
   * Makes an empty cluster beside its place and moves it there when it is whole, so that a start that was cut off leaves
   * nothing to trip over.
   */
  async initialise(
    binaries: PostgresBinaries,
    account: ServerAccount | undefined,
    options: { durable: 'yes' | 'no'; onNotice: (line: string) => void },
  ): Promise<void> {
    if (account !== undefined) this.placeWhereEnterable(account, options.onNotice);
    const target = this.path();
    if (existsSync(target) && readdirSync(target).length > 0) {
      throw new StoreError(
        'not-our-database',
        `${target} exists and holds no PostgreSQL cluster. Move it away, or choose another UNDERTONE_HOME.`,
      );
    }
    const draft = `${target}.initialising`;
    const secret = path.join(draft, 'password');
    const password = randomBytes(24).toString('base64url');
    try {
      this.writing(() => {
        rmSync(draft, { recursive: true, force: true });
        mkdirSync(draft, { recursive: true, mode: 0o700 });
        writeFileSync(secret, `${password}\n`, { mode: 0o600 });
        if (account !== undefined) {
          for (const made of [draft, secret]) chownSync(made, account.uid, account.gid);
        }
      });
      const cluster = path.join(draft, 'cluster');
      await runInitdb(binaries.initdb, account, [
        `--pgdata=${cluster}`,
        `--username=${ROLE}`,
        `--pwfile=${secret}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale=C',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        ...(options.durable === 'yes' ? [] : ['--no-sync']),
      ]);
      this.writing(() => {
        rmSync(this.passwordFile, { force: true });
        writeFileSync(this.passwordFile, `${password}\n`, { mode: 0o600 });
        chmodSync(this.passwordFile, 0o600);
        renameSync(cluster, target);
      });
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  }

  /** @throws StoreError 'data-folder-of-other-version' */
  checkVersion(binaries: PostgresBinaries): void {
    const version = readFileSync(path.join(this.path(), 'PG_VERSION'), 'utf8').trim();
    if (version === binaries.majorVersion) return;
    throw new StoreError(
      'data-folder-of-other-version',
      `${this.path()} was made by PostgreSQL ${version}; the embedded one is ${binaries.majorVersion} and can't read it. ` +
        'Dump it with its own version and load the dump, or choose another UNDERTONE_HOME.',
    );
  }

  /** @throws StoreError 'data-folder-not-enterable' */
  checkEnterable(account: ServerAccount | undefined): void {
    const closed = account === undefined ? undefined : firstClosedFolder(this.path(), account);
    if (closed === undefined) return;
    throw new StoreError(
      'data-folder-not-enterable',
      `PostgreSQL refuses to run as root and runs as the account "postgres" instead, which can't enter ${closed} ` +
        `on the way to ${this.path()}. Allow it (chmod o+x ${closed}), choose another UNDERTONE_HOME, or start as an ordinary user.`,
    );
  }

  /**
   * Stops a server that outlived its owner, and removes the pid file of one that is gone. The caller holds the lock: no running
   * owner is robbed.
   * @throws StoreError 'data-folder-in-use'
   */
  async clearOfOrphans(patienceMs: number, onNotice: (line: string) => void): Promise<void> {
    const file = path.join(this.path(), 'postmaster.pid');
    const pid = existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : Number.NaN;
    if (!Number.isInteger(pid) || pid <= 0) return;
    if (!isRunning(pid) || !/postgres/.test(programOf(pid) ?? '')) {
      // PostgreSQL would take a process that was given the same number for its predecessor.
      rmSync(file, { force: true });
      return;
    }
    onNotice(`stopping the PostgreSQL server (process ${pid}) that an earlier run left behind`);
    for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
      try {
        process.kill(pid, signal);
        process.kill(pid, 'SIGCONT');
      } catch (error) {
        if (codeOf(error) === 'EPERM') break;
      }
      if (await endsWithin(pid, patienceMs)) return;
    }
    throw new StoreError(
      'data-folder-in-use',
      `a PostgreSQL server (process ${pid}) runs on ${this.path()} and can't be stopped by this user. Stop it and start again.`,
    );
  }

  /**
   * Root's home is often closed to everyone else, and so is a temporary folder made by root: then the data lies where the
   * server's account can enter, and `postgres` in the home is a link to it.
   */
  private placeWhereEnterable(account: ServerAccount, onNotice: (line: string) => void): void {
    if (isLink(this.link) || existsSync(this.link)) return;
    const closed = firstClosedFolder(this.home, account);
    if (closed === undefined) return;
    const place = this.writing(() => {
      const made = placeFor(this.home);
      symlinkSync(made, this.link);
      return made;
    });
    onNotice(
      `the account of PostgreSQL can't enter ${closed}: its data lies in ${place}, linked from ${this.link}`,
    );
  }

  private writing<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw describeWriteFailure(error, this.home) ?? error;
    }
  }
}

/** What a failed write below a folder means to the reader; undefined for other errors. */
export function describeWriteFailure(error: unknown, folder: string): StoreError | undefined {
  const reason = reasonOf(error);
  if (codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT' || /no space left on device/i.test(reason)) {
    return new StoreError(
      'disk-full',
      `there is no space left for the database in ${folder}. Free some (it needs about 100 MB to start), or choose another UNDERTONE_HOME.`,
      { cause: error },
    );
  }
  if (
    ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ENOENT'].includes(codeOf(error) ?? '') ||
    /permission denied|read-only file system/i.test(reason)
  ) {
    return new StoreError(
      'data-folder-not-writable',
      `the data folder ${folder} can't be written: ${reason}. Make it writable, or set UNDERTONE_HOME to a folder that is.`,
      { cause: error },
    );
  }
  return undefined;
}

function runInitdb(program: string, account: ServerAccount | undefined, args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...account,
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (d: Buffer) => (said += d.toString()));
    const fail = (why: string): void => {
      const folder = path.dirname(path.dirname(args[0].replace('--pgdata=', '')));
      reject(
        describeWriteFailure(new Error(why), folder) ??
          new StoreError('server-did-not-start', `initdb could not make a database in ${folder}: ${why}`),
      );
    };
    child.once('error', (error) => fail(reasonOf(error)));
    child.once('close', (code, signal) =>
      code === 0
        ? resolve()
        : fail(said.trim().split('\n').slice(-6).join('\n') || `it ended with ${code ?? signal}`),
    );
  });
}

function nearestExisting(folder: string): string {
  return existsSync(folder) ? folder : nearestExisting(path.dirname(folder));
}

function isLink(file: string): boolean {
  try {
    return lstatSync(file).isSymbolicLink();
  } catch {
    return false;
  }
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size;
  } catch {
    return 0;
  }
}
