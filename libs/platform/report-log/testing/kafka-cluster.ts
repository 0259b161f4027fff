import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** Set by the Jest project `kafka`: its broker, or why this machine has none. */
export const BROKERS_VARIABLE = 'TEST_KAFKA_BROKERS';
export const UNAVAILABLE_VARIABLE = 'TEST_KAFKA_UNAVAILABLE';

const LAUNCHER = path.resolve(__dirname, '../../../../tools/kafka-local/main.mjs');
const START_MS = 300_000;
const CLOSE_MS = 30_000;

export interface KafkaClusterSettings {
  readonly brokers: 1 | 3;
  /** Keeps the data there; without it the data goes with the cluster. */
  readonly folder?: string;
  /** Lines for every server.properties. */
  readonly settings?: Readonly<Record<string, string | number | boolean>>;
  /** Of each broker; 384 where nothing is said. */
  readonly heapMegabytes?: number;
}

/** Real brokers of one spec's own. They end with this process at the latest. */
export interface KafkaCluster {
  /** `127.0.0.1:port` of each node, running or not; node ids count from 1. */
  readonly brokers: readonly string[];
  /** SIGKILL; resolves when the process is gone. */
  kill(id: number): Promise<void>;
  /** SIGTERM; resolves when the process is gone. */
  stop(id: number): Promise<void>;
  /** On the same data and port; resolves when the node answers and sees every running one. */
  start(id: number): Promise<void>;
  /** Ends all nodes. A second call does nothing more. */
  close(): Promise<void>;
}

/** As an error of tools/kafka-local; `code` is 'unavailable' where the machine lacks something. */
export class KafkaLauncherError extends Error {
  override readonly name = 'KafkaLauncherError';

  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

type Fact =
  | { readonly ready: true; readonly brokers: readonly string[] }
  | { readonly unavailable: string }
  | { readonly error: { readonly code: string; readonly message: string } }
  | { readonly done: string }
  | { readonly failed: string; readonly message: string }
  | { readonly ended: number; readonly message: string };

/**
 * Starts brokers for one spec: about 3 s for one and 10 s for three, more on a busy machine.
 * @throws KafkaLauncherError
 */
export async function startKafkaCluster(settings: KafkaClusterSettings): Promise<KafkaCluster> {
  const launcher = new Launcher(settings);
  const brokers = await launcher.ready();
  return {
    brokers,
    kill: (id) => launcher.command(`kill ${id}`),
    stop: (id) => launcher.command(`stop ${id}`),
    start: (id) => launcher.command(`start ${id}`),
    close: () => launcher.close(),
  };
}

/** The broker that every spec of the Jest project `kafka` shares: use topics of your own, see uniqueTopic. */
export function testBrokers(): string[] {
  const brokers = process.env[BROKERS_VARIABLE];
  if (brokers === undefined) {
    throw new KafkaLauncherError(
      'unavailable',
      'no shared broker runs: only x.kafka.spec.ts, run by the Jest project kafka, have one, within describeWithKafka',
    );
  }
  return brokers.split(',');
}

/** `describe`, or `describe.skip` where this machine can't run a broker; the reason then stands in the suite's name. */
export function describeWithKafka(name: string, suite: () => void): void {
  const why = whyUnavailable();
  if (why === undefined) describe(name, suite);
  else describe.skip(`${name} [skipped: ${why.replace(/[[\]\n]/g, ' ')}]`, suite);
}

/** A name that no other spec and no earlier run has used. */
export const uniqueTopic = (prefix: string): string => `${prefix}.${randomBytes(6).toString('hex')}`;

function whyUnavailable(): string | undefined {
  if (process.env[BROKERS_VARIABLE] !== undefined) return undefined;
  const known = process.env[UNAVAILABLE_VARIABLE];
  if (known !== undefined) return known;
  const { stdout, stderr } = spawnSync(process.execPath, [LAUNCHER, '--check'], { encoding: 'utf8' });
  const answer = parse(stdout) as { available?: boolean; why?: string } | undefined;
  if (answer?.available === true) return undefined;
  return answer?.why ?? `tools/kafka-local can't be run: ${stderr}`;
}

/** One tools/kafka-local/main.mjs --json. Should this process die, its standard input closes and it ends its brokers. */
class Launcher {
  private readonly child: ChildProcess;
  private readonly gone: Promise<void>;
  private readonly waiting: { line: string; resolve: () => void; reject: (error: Error) => void }[] = [];
  private readonly firstFact: Promise<Fact>;
  private diagnostics = '';

  constructor(settings: KafkaClusterSettings) {
    this.child = spawn(process.execPath, [LAUNCHER, '--json', ...argumentsFor(settings)], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.child.stdin!.on('error', () => undefined);
    this.child.stderr!.on('data', (chunk: Buffer) => {
      this.diagnostics = `${this.diagnostics}${chunk.toString()}`.slice(-4000);
    });
    this.gone = new Promise((resolve) => this.child.once('close', () => resolve()));
    this.firstFact = new Promise((resolve, reject) => {
      createInterface({ input: this.child.stdout! }).on('line', (line) => {
        const fact = parse(line) as Fact | undefined;
        if (fact === undefined) return;
        if ('done' in fact) this.answered(fact.done)?.resolve();
        else if ('failed' in fact) {
          this.answered(fact.failed)?.reject(
            new KafkaLauncherError('command-failed', `${fact.failed}: ${fact.message}`),
          );
        } else if (!('ended' in fact)) resolve(fact);
      });
      void this.gone.then(() => {
        reject(new KafkaLauncherError('launcher-ended', `tools/kafka-local ended: ${this.diagnostics}`));
        for (const { line, reject: refuse } of this.waiting.splice(0)) {
          refuse(new KafkaLauncherError('launcher-ended', `${line}: tools/kafka-local has ended`));
        }
      });
    });
  }

  async ready(): Promise<readonly string[]> {
    const limit = setTimeout(() => this.child.kill('SIGKILL'), START_MS);
    try {
      const fact = await this.firstFact;
      if ('ready' in fact) return fact.brokers;
      if ('unavailable' in fact) throw new KafkaLauncherError('unavailable', fact.unavailable);
      if ('error' in fact) throw new KafkaLauncherError(fact.error.code, fact.error.message);
      throw new KafkaLauncherError('launcher-ended', `an unknown fact: ${JSON.stringify(fact)}`);
    } finally {
      clearTimeout(limit);
    }
  }

  command(line: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ line, resolve, reject });
      this.child.stdin!.write(`${line}\n`);
    });
  }

  async close(): Promise<void> {
    this.child.stdin!.end();
    const limit = setTimeout(() => this.child.kill('SIGKILL'), CLOSE_MS);
    await this.gone;
    clearTimeout(limit);
  }

  private answered(line: string): (typeof this.waiting)[number] | undefined {
    const at = this.waiting.findIndex((one) => one.line === line);
    return at < 0 ? undefined : this.waiting.splice(at, 1)[0];
  }
}

const argumentsFor = ({
  brokers,
  folder,
  settings = {},
  heapMegabytes = 384,
}: KafkaClusterSettings): string[] => [
  '--brokers',
  String(brokers),
  '--heap',
  String(heapMegabytes),
  ...(folder === undefined ? [] : ['--folder', folder]),
  ...Object.entries(settings).flatMap(([key, value]) => ['--settings', `${key}=${value}`]),
];

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
