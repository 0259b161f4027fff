import { createServer } from 'node:net';
import { Client, escapeIdentifier } from 'pg';
import { StoreError } from '../store-error';
import { DataFolder, describeWriteFailure, ROLE } from './data-folder';
import { FolderLock } from './folder-lock';
import { postgresBinaries } from './postgres-binaries';
import { type Login, PostgresProcess } from './postgres-process';
import { serverAccount } from './server-account';

export interface EmbeddedDatabaseSettings {
  /** The data lies in `postgres` below it and stays there when the server stops. */
  readonly home: string;
  /** 'until-power-fails' skips the waits for the disk: for tests only. */
  readonly durability?: 'full' | 'until-power-fails';
  /** Told what was done beyond the ordinary, a line each. */
  readonly onNotice?: (line: string) => void;
  /** Told when the server ends although nobody stopped it. */
  readonly onUnexpectedEnd?: (error: StoreError) => void;
}

const HOST = '127.0.0.1';
const DATABASE = 'undertone';
const START_MS = 60_000;
const STOP_MS = 30_000;
const PORT_ATTEMPTS = 5;

const OPTIONS = [
  `listen_addresses=${HOST}`,
  'unix_socket_directories=',
  'max_connections=100',
  'timezone=UTC',
  'log_timezone=UTC',
  // The details of an error quote rows, ids of reports for one.
  'log_error_verbosity=terse',
  // A container's /dev/shm is often too small for what parallel workers share.
  'max_parallel_workers_per_gather=0',
];
const DURABILITY = {
  full: ['fsync=on', 'synchronous_commit=on', 'full_page_writes=on'],
  'until-power-fails': ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_wal_size=256MB'],
};

/**
 * A PostgreSQL server of our own: a child process on a free loopback port, with a random password that a file in the home
 * keeps (mode 0600). It stops when this process ends, whatever ends it.
 */
export class EmbeddedDatabase {
  private constructor(
    private readonly login: Login,
    private readonly server: PostgresProcess,
    private readonly lock: FolderLock,
  ) {}

  /**
   * @throws StoreError 'data-folder-in-use' when another process runs on this home, 'data-folder-not-writable', 'disk-full',
   * 'data-folder-not-enterable', 'data-folder-of-other-version', 'password-missing', 'account-missing', 'binaries-missing' or
   * 'server-did-not-start'
   */
  static async start(settings: EmbeddedDatabaseSettings): Promise<EmbeddedDatabase> {
    const onNotice = settings.onNotice ?? (() => undefined);
    const durability = settings.durability ?? 'full';
    const folder = new DataFolder(settings.home);
    folder.open();
    const lock = FolderLock.take(folder.lockFile);
    if (!(lock instanceof FolderLock)) {
      throw new StoreError(
        'data-folder-in-use',
        `the database in ${folder.home} belongs to process ${lock.heldBy}, which is running. ` +
          'Stop that one, give this one another UNDERTONE_HOME, or let both use one PostgreSQL through DATABASE_URL.',
      );
    }
    try {
      const account = await serverAccount();
      const binaries = postgresBinaries(account, onNotice);
      if (!folder.isInitialised()) {
        await folder.initialise(binaries, account, {
          durable: durability === 'full' ? 'yes' : 'no',
          onNotice,
        });
      }
      folder.checkVersion(binaries);
      folder.checkEnterable(account);
      const password = folder.password();
      await folder.clearOfOrphans(STOP_MS, onNotice);
      const options = [...OPTIONS, ...DURABILITY[durability]];
      const { server, login } = await startOnFreePort(folder, (port) => ({
        login: { host: HOST, port, user: ROLE, password },
        server: PostgresProcess.spawn({
          program: binaries.postgres,
          dataFolder: folder.path(),
          logFile: folder.logFile,
          port,
          options,
          account,
        }),
      }));
      const database = new EmbeddedDatabase(login, server, lock);
      await database.createDatabase(DATABASE).catch(async (error: unknown) => {
        await server.stop(STOP_MS);
        throw error;
      });
      void server.unexpectedEnd().then(() => {
        lock.release();
        settings.onUnexpectedEnd?.(
          new StoreError(
            'database-unreachable',
            `the embedded PostgreSQL ended by itself; its log is ${folder.logFile}`,
          ),
        );
      });
      return database;
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /** `postgresql://…` of the database `undertone`; holds the password. */
  get url(): string {
    return this.urlOf(DATABASE);
  }

  get port(): number {
    return this.login.port;
  }

  urlOf(database: string): string {
    const { user, password, host, port } = this.login;
    return `postgresql://${user}:${password}@${host}:${port}/${database}`;
  }

  /** Makes a database unless there is one of this name. */
  async createDatabase(name: string): Promise<void> {
    const client = new Client({ ...this.login, database: 'postgres' });
    await client.connect();
    try {
      const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
      if (rowCount === 0) await client.query(`CREATE DATABASE ${escapeIdentifier(name)}`);
    } finally {
      await client.end();
    }
  }

  /** Ends all connections and stops the server; the data stays. A second call does nothing more. */
  async stop(): Promise<void> {
    await this.server.stop(STOP_MS);
    this.lock.release();
  }
}

async function startOnFreePort(
  folder: DataFolder,
  spawnOn: (port: number) => { server: PostgresProcess; login: Login },
): Promise<{ server: PostgresProcess; login: Login }> {
  for (let attempt = 1; ; attempt += 1) {
    const started = spawnOn(await freePort());
    try {
      await started.server.ready(started.login, START_MS);
      return started;
    } catch (error) {
      await started.server.stop(STOP_MS);
      // Another program may take the port between our look and the server's.
      const log = started.server.log();
      if (/could not bind IPv4 address/.test(log) && attempt < PORT_ATTEMPTS) continue;
      throw describeWriteFailure(new Error(aboutWriting(log), { cause: error }), folder.home) ?? error;
    }
  }
}

const aboutWriting = (log: string): string =>
  log
    .split('\n')
    .filter((line) => /no space left|permission denied|read-only file/i.test(line))
    .slice(-2)
    .join('; ');

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, HOST, () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
