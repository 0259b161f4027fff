import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import path from 'node:path';

const PROGRAM = path.resolve(__dirname, '..', 'dist', 'main.js');

/** The built gateway in a process of its own, on a free port. */
export class GatewayProcess {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  /** Resolves once it answers. @throws where it ends before that, with what it said */
  static start(databaseUrl: string, variables: NodeJS.ProcessEnv = {}): Promise<GatewayProcess> {
    const child = spawn(process.execPath, [PROGRAM], {
      env: {
        DATABASE_URL: databaseUrl,
        UNDERTONE_PORT: '0',
        UNDERTONE_LOG_LEVEL: 'warn',
        ...variables,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said: string[] = [];
    return new Promise((resolve, reject) => {
      createInterface({ input: child.stderr }).on('line', (line) => said.push(line));
      createInterface({ input: child.stdout }).on('line', (line) => {
        said.push(line);
        const url = /answers at (http:\S+)/.exec(line)?.[1];
        if (url !== undefined) resolve(new GatewayProcess(url, child));
      });
      child.once('exit', (code) => reject(new Error(`the gateway ended with ${code}: ${said.join('\n')}`)));
    });
  }

  /** As a power cut would end it. */
  kill(): Promise<void> {
    return this.end('SIGKILL').then(() => undefined);
  }

  /** Asks it to stop, and resolves to its exit code. */
  stop(): Promise<number | null> {
    return this.end('SIGTERM');
  }

  private end(signal: NodeJS.Signals): Promise<number | null> {
    return new Promise((resolve) => {
      if (this.child.exitCode !== null || this.child.signalCode !== null) return resolve(this.child.exitCode);
      this.child.once('exit', (code) => resolve(code));
      this.child.kill(signal);
    });
  }
}
