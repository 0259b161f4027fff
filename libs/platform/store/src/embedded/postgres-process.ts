import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { codeOf, reasonOf, StoreError } from '../store-error';
import { type ServerAccount } from './server-account';

export interface PostgresSettings {
  readonly program: string;
  readonly dataFolder: string;
  readonly logFile: string;
  readonly port: number;
  /** `name=value` pairs as in postgresql.conf. */
  readonly options: readonly string[];
  readonly account: ServerAccount | undefined;
}

export interface Login {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
}

// The server runs in a session of its own, so a Ctrl-C in the terminal doesn't reach it before the services are done
// with it. The shell stops it when our end of the pipe closes: in stop(), and also when this process is killed.
const GUARD = `
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
( read -r _; kill -INT "$server" ) <&3 2>/dev/null &
watch=$!
wait "$server"
code=$?
kill "$watch" 2>/dev/null
exit "$code"
`;

const ATTEMPT_MS = 5_000;
const POLL_MS = 25;
const LOG_LINES = 8;

/** One PostgreSQL server as a child process. */
export class PostgresProcess {
  private stopping = false;
  private readonly ended: Promise<void>;
  private hasEnded = false;

  private constructor(
    private readonly child: ChildProcess,
    private readonly settings: PostgresSettings,
    private readonly logStart: number,
  ) {
    this.ended = new Promise((resolve) => {
      const end = (): void => {
        this.hasEnded = true;
        child.stdin?.destroy();
        resolve();
      };
      child.once('exit', end).once('error', end);
    });
    child.stdin?.on('error', () => undefined);
    child.unref();
    (child.stdin as unknown as { unref(): void }).unref();
  }

  static spawn(settings: PostgresSettings): PostgresProcess {
    const { program, dataFolder, logFile, port, options, account } = settings;
    const log = openSync(logFile, 'a', 0o600);
    try {
      const args = ['-D', dataFolder, '-p', String(port), ...options.flatMap((o) => ['-c', o])];
      const child = spawn('/bin/sh', ['-c', GUARD, 'sh', program, ...args], {
        ...account,
        cwd: '/',
        detached: true,
        env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
        stdio: ['pipe', log, log],
      });
      return new PostgresProcess(child, settings, fstatSync(log).size);
    } finally {
      closeSync(log);
    }
  }

  /** Resolves when the server has ended although nobody stopped it. */
  async unexpectedEnd(): Promise<void> {
    await this.ended;
    if (this.stopping) await new Promise(() => undefined);
  }

  /**
   * Waits until the server answers. It may take as long as it says that it is starting: recovery after a crash has no fixed
   * duration.
   * @throws StoreError 'server-did-not-start'
   */
  async ready(login: Login, patienceMs: number): Promise<void> {
    let last: unknown = new Error('it did not answer');
    for (let until = Date.now() + patienceMs; Date.now() < until;) {
      if (this.hasEnded) throw this.failure('it ended while starting');
      try {
        await ping(login);
        return;
      } catch (error) {
        last = error;
        if (codeOf(error) === '28P01') throw this.failure('it refuses our password');
        if (codeOf(error) === '57P03') until = Date.now() + patienceMs;
      }
      await wait(POLL_MS);
    }
    throw this.failure(reasonOf(last));
  }

  /**
   * Ends connections and stops the server with everything on disk; after the patience it is stopped hard, which costs a
   * recovery at the next start and loses nothing that was committed.
   */
  async stop(patienceMs: number): Promise<void> {
    this.stopping = true;
    this.child.ref();
    this.child.stdin?.end();
    const late = setTimeout(() => this.kill('SIGQUIT'), patienceMs);
    await this.ended;
    clearTimeout(late);
  }

  /** Stops it at once, as a crash would. */
  kill(signal: 'SIGQUIT' | 'SIGKILL'): void {
    this.stopping = true;
    try {
      if (this.child.pid !== undefined) process.kill(-this.child.pid, signal);
    } catch {
      // gone already
    }
  }

  /** What the server has written to its log since it was started. */
  log(): string {
    return readFileSync(this.settings.logFile).subarray(this.logStart).toString().trimEnd();
  }

  private failure(why: string): StoreError {
    return new StoreError(
      'server-did-not-start',
      `the embedded PostgreSQL on port ${this.settings.port} did not start: ${why}. ` +
        `Its log (${this.settings.logFile}) ends with:\n${this.log().split('\n').slice(-LOG_LINES).join('\n')}`,
    );
  }
}

async function ping(login: Login): Promise<void> {
  const client = new Client({ ...login, database: 'postgres', connectionTimeoutMillis: ATTEMPT_MS });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } finally {
    await client.end().catch(() => undefined);
  }
}
