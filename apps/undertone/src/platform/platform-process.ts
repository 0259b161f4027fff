import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAM = path.resolve(__dirname, '..', '..', 'bin', 'undertone.js');
const STOP_MS = 30_000;

export interface PlatformProcessOptions {
  home: string;
  /** A free one where left out. */
  port?: number;
  environment: NodeJS.ProcessEnv;
  /** Gets what the platform logs, line by line. */
  onLog?: (line: string) => void;
}

/** `undertone up` in a process of its own on a free port, as an operator would run it. */
export class PlatformProcess {
  private constructor(
    readonly url: string,
    readonly pid: number,
    private readonly child: ChildProcess,
    private readonly ended: Promise<void>,
  ) {}

  /** Resolves once the platform answers. @throws {Error} with what the platform said, when it ends before that. */
  static async start({
    home,
    port = 0,
    environment,
    onLog,
  }: PlatformProcessOptions): Promise<PlatformProcess> {
    const child = spawn(process.execPath, [PROGRAM, 'up', '--port', String(port), '--home', home, '--json'], {
      // Its own process group: Ctrl-C reaches this process only, which then stops the platform in order.
      detached: process.platform !== 'win32',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: environment,
    });
    const said: string[] = [];
    createInterface({ input: child.stderr }).on('line', (line) => {
      said.push(line);
      if (said.length > 50) said.shift();
      onLog?.(line);
    });
    const killOnExit = () => child.kill('SIGKILL');
    process.once('exit', killOnExit);
    const ended = new Promise<void>((resolve) =>
      child.once('close', () => {
        process.removeListener('exit', killOnExit);
        resolve();
      }),
    );
    const ready = await new Promise<{ url: string }>((resolve, reject) => {
      child.once('error', reject);
      let text = '';
      child.stdout.on('data', (d: Buffer) => {
        text += d.toString();
        const end = text.indexOf('\n}');
        if (end >= 0) resolve(JSON.parse(text.slice(0, end + 2)) as { url: string });
      });
      void ended.then(() =>
        reject(new Error(`the platform did not start: ${said.join('\n') || 'it said nothing'}`)),
      );
    });
    return new PlatformProcess(ready.url, child.pid as number, child, ended);
  }

  /** Stops in order: intake, trainers, database; after half a minute by force. */
  async stop(): Promise<void> {
    const force = setTimeout(() => this.child.kill('SIGKILL'), STOP_MS);
    this.child.kill('SIGTERM');
    await this.ended;
    clearTimeout(force);
  }

  /** As a power cut would end it: for tests. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }
}
