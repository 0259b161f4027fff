import { type ChildProcess, fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import { type JobFailure, type JobProgress } from './job';
import { type FromTrainer, type Retry, type ToTrainer } from './trainer-protocol';

/** How a trainer process ended. */
export type TrainerOutcome =
  | { kind: 'result'; result: unknown }
  | { kind: 'failure'; failure: JobFailure; retry: Retry }
  | { kind: 'stopped' }
  /** It ended without a word: killed, out of memory, or a crash. */
  | { kind: 'crash'; failure: JobFailure };

export interface TrainerOptions {
  script: string;
  environment: Record<string, string>;
  execArgv: string[];
  request: unknown;
  folder: string;
  attempt: number;
  /** How long it may take to save and end once told to, before it is killed. */
  stopGraceMs: number;
  onProgress(progress: JobProgress): void;
  /** A line that it wrote to stdout or stderr. */
  onOutput(line: string): void;
}

/** What every program needs from its surroundings; secrets of the service (DATABASE_URL) aren't among it. */
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'LANG', 'TZ', 'LD_LIBRARY_PATH', 'SystemRoot'];
const KEPT_LINES = 50;
/** What a dying process says of itself; TensorFlow and V8 write much else. */
const LAST_WORDS = /\b(fatal|exception|aborted)\b|\berror:/i;
const MOST_LAST_WORDS = 3;

/** One run of a trainer script in a process of its own. */
export class TrainerProcess {
  /** Resolves when the process is gone and everything it sent has been read. Never rejects. */
  readonly outcome: Promise<TrainerOutcome>;
  private readonly child: ChildProcess;
  /** The last lines that it wrote. */
  readonly lastLines: string[] = [];
  private said: TrainerOutcome | undefined;
  private stopping = false;
  private killTimer: NodeJS.Timeout | undefined;

  constructor(private readonly options: TrainerOptions) {
    this.child = fork(options.script, [], {
      cwd: options.folder,
      env: { ...inherited(), ...options.environment },
      execArgv: options.execArgv,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.child.on('message', (message: FromTrainer) => this.hear(message));
    for (const stream of [this.child.stdout, this.child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', (line) => this.note(line));
    }
    this.outcome = this.ending();
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Tells it to save a checkpoint and end; kills it when it takes longer than the grace. */
  stop(): void {
    if (this.stopping) return;
    this.stopping = true;
    this.send({ type: 'stop' });
    this.killAfter(this.options.stopGraceMs);
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }

  private hear(message: FromTrainer): void {
    switch (message.type) {
      case 'ready': {
        const { request, folder, attempt } = this.options;
        if (!this.stopping) this.send({ type: 'start', request, folder, attempt });
        return;
      }
      case 'progress':
        return this.options.onProgress(message.progress);
      case 'result':
        this.said = { kind: 'result', result: message.result };
        break;
      case 'failure': {
        const { code, message: text, retry } = message;
        this.said = { kind: 'failure', failure: { code, message: text }, retry };
        break;
      }
      case 'stopped':
        this.said = { kind: 'stopped' };
    }
    // It has nothing left to do; what keeps it from ending can't be of use.
    this.killAfter(this.options.stopGraceMs);
  }

  private note(line: string): void {
    this.lastLines.push(line);
    if (this.lastLines.length > KEPT_LINES) this.lastLines.shift();
    this.options.onOutput(line);
  }

  private send(message: ToTrainer): void {
    // A process that is already gone is told by its exit, not by the failed send.
    if (this.child.connected) this.child.send(message, () => undefined);
  }

  private killAfter(delayMs: number): void {
    this.killTimer ??= setTimeout(() => this.kill(), delayMs);
  }

  private async ending(): Promise<TrainerOutcome> {
    const exit = await new Promise<{ code: number | null; signal: string | null; error?: Error }>(
      (resolve) => {
        // "close" comes after the last byte of its output and the last message of its channel.
        this.child.once('close', (code, signal) => resolve({ code, signal }));
        this.child.once('error', (error) => {
          if (this.child.pid === undefined) resolve({ code: null, signal: null, error });
        });
      },
    );
    clearTimeout(this.killTimer);
    if (this.said) return this.said;
    if (this.stopping) return { kind: 'stopped' };
    return { kind: 'crash', failure: { code: 'trainer-crashed', message: this.describe(exit) } };
  }

  private describe(exit: { code: number | null; signal: string | null; error?: Error }): string {
    if (exit.error) return `the trainer couldn't be started: ${exit.error.message}`;
    const how = exit.signal
      ? `the trainer was ended by ${exit.signal}${exit.signal === 'SIGKILL' ? ' (by hand, or the machine ran out of memory)' : ''}`
      : `the trainer ended with exit code ${exit.code} and without a result`;
    const words = this.lastLines.filter((line) => LAST_WORDS.test(line)).slice(-MOST_LAST_WORDS);
    return words.length > 0 ? `${how}; its last words were: ${words.join(' | ')}` : how;
  }
}

function inherited(): Record<string, string> {
  // eslint-disable-next-line no-restricted-properties -- handed on to a child process, not read as configuration
  const { env } = process;
  return Object.fromEntries(
    INHERITED.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  );
}
