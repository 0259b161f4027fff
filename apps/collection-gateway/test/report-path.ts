import { type Report } from '@undertone/protocol';
import { type ConsumerFailure } from '@undertone/report-log';

import fc from 'fast-check';

import { type CollectionTask } from '../src/tasks/collection-task';
import { type Breakage, histories, type HistorySettings, type Operation } from './history';
import { gatewayRecord, type LoggedEntry, LogLedger, type Tables } from './log-ledger';
import { type ForeignEntry, REPORTS, smuggledBytes, TASKS } from './sample-entries';
import { type GatewaySurroundings, SimulatedGateway } from './simulated-gateway';

/** A log and tables that outlive gateways, empty at first. */
export interface PathUnderTest extends Pick<GatewaySurroundings, 'plan' | 'commitsOffsets' | 'open'> {
  /** What others may write to the log. */
  readonly foreign: readonly ForeignEntry[];
  /** Whether a record that the log could not acknowledge at once may be in it several times. */
  readonly repeats: 'never' | 'when broken';
  /** Longest time for the ingest to come to an end, when all is well. */
  readonly patienceMs: number;
  smuggle(entry: ForeignEntry): Promise<void>;
  /** What the log holds, read without the code under test where that can be. */
  entries(): Promise<LoggedEntry[]>;
  tables(): Promise<Tables>;
  /** Takes the log's server away; the result brings it back. */
  breakLog(breakage: Breakage): Promise<() => Promise<void>>;
  /** Cuts every connection of the gateways to the tables. */
  cutDatabase(): Promise<void>;
  /** `partition/offset reason` of what others were told to have been set aside, as often as told; once all of it is. */
  told?(): Promise<readonly string[]>;
}

/**
 * Plays that many random histories. One that fails is cut down to what is needed for it, and told with its seed and path:
 * HISTORY_SEED and HISTORY_PATH play it again, HISTORY_RUNS plays more.
 */
export async function playHistories(
  openPath: () => Promise<PathUnderTest>,
  { runs, ...settings }: HistorySettings & { readonly runs: number },
): Promise<void> {
  const { HISTORY_RUNS, HISTORY_SEED, HISTORY_PATH } = process.env;
  await fc.assert(
    fc.asyncProperty(histories(settings), async (history) => playHistory(await openPath(), history)),
    {
      numRuns: Number(HISTORY_RUNS ?? runs),
      ...(HISTORY_SEED === undefined ? {} : { seed: Number(HISTORY_SEED) }),
      ...(HISTORY_PATH === undefined ? {} : { path: HISTORY_PATH }),
    },
  );
}

/** Plays a history, and compares log and tables with what the history says must be in them. */
export async function playHistory(path: PathUnderTest, history: readonly Operation[]): Promise<void> {
  const simulation = new Simulation(path);
  try {
    await simulation.play(history);
    await simulation.finish();
    await simulation.check();
  } finally {
    await simulation.dispose();
  }
}

const MOST_GATEWAYS = 3;

/** What a device has to tell, and whether it knows that it was heard. */
interface Request {
  readonly task: CollectionTask;
  readonly reports: readonly Report[];
  answered: boolean;
}

class Simulation {
  private readonly ledger: LogLedger;
  private readonly gateways: SimulatedGateway[] = [];
  private readonly requests: Request[] = [];
  private readonly underWay = new Set<Promise<void>>();
  private later: { due: number; act: () => Promise<void> }[] = [];
  private operations = 0;
  private mend: (() => Promise<void>) | undefined;
  /** What was done to the path by force: without it, nothing may fail. */
  private violence = false;
  private readonly failures: ConsumerFailure[] = [];
  private readonly deaths: Error[] = [];
  private readonly faults: unknown[] = [];

  constructor(private readonly path: PathUnderTest) {
    this.ledger = new LogLedger(path.repeats);
    this.join();
  }

  async play(history: readonly Operation[]): Promise<void> {
    await this.gateways[0].started;
    for (const operation of history) {
      await this.pass();
      await this.apply(operation);
    }
  }

  /** All is brought in order, devices send what they have no answer to, and the ingest comes to an end. */
  async finish(): Promise<void> {
    this.path.plan.arm(undefined);
    while (this.later.length > 0) await this.pass();
    await this.repair();
    await this.allUnderWay();
    for (const request of this.requests) {
      await this.until('a device has its answer', async () => {
        if (!request.answered) await this.deliver(request, await this.anyGateway(), 'answered');
        return request.answered;
      });
    }
    await this.settle();
  }

  async check(): Promise<void> {
    if (this.faults.length > 0) throw this.faults[0];
    this.ledger.read(await this.path.entries());
    this.ledger.checkLog();
    const tables = await this.path.tables();
    this.ledger.checkTables(tables);
    expect(this.deaths).toEqual([]);
    if (!this.violence) expect(this.failures).toEqual([]);
    if (this.path.told === undefined) return;
    expect([...new Set(await this.path.told())].sort()).toEqual(tables.rejected);
  }

  async dispose(): Promise<void> {
    this.path.plan.arm(undefined);
    await this.mend?.().catch(() => undefined);
    await Promise.allSettled(this.underWay);
    await Promise.allSettled(this.gateways.map((gateway) => gateway.stop()));
  }

  private async apply(operation: Operation): Promise<void> {
    const { path, gateways } = this;
    switch (operation.kind) {
      case 'send':
        return this.send(operation);
      case 'repeat': {
        if (this.requests.length === 0) return;
        const request = this.requests[operation.send % this.requests.length];
        return this.deliver(request, this.gateway(operation.gateway), 'answered');
      }
      case 'smuggle':
        return this.smuggle(path.foreign[operation.entry % path.foreign.length]);
      case 'smuggle-bytes':
        return this.smuggle(smuggledBytes(operation.bytes));
      case 'crash':
        this.violence = true;
        return path.plan.arm(operation.crash);
      case 'join':
        if (gateways.filter(({ alive }) => alive).length < MOST_GATEWAYS) await this.whileWhole(this.join());
        return;
      case 'leave':
        return this.whileWhole(this.gateway(operation.gateway)?.stop());
      case 'kill':
        this.violence = true;
        return this.gateway(operation.gateway)?.kill();
      case 'break-log':
        return this.breakLog(operation.breakage, operation.operations);
      case 'cut-database':
        this.violence = true;
        return path.cutDatabase();
      case 'sweep':
        return this.sweep(operation.limit);
      case 'pause':
        return pause(operation.ms);
      case 'settle':
        return this.settle();
    }
  }

  private async send(operation: Extract<Operation, { kind: 'send' }>): Promise<void> {
    const reports = operation.reports.map((number) => REPORTS[number % REPORTS.length]);
    for (const task of TASKS) {
      const batch = reports.filter((report) => report.task === task.name);
      if (batch.length === 0) continue;
      const request: Request = { task, reports: batch, answered: false };
      this.requests.push(request);
      const first = (): Promise<void> =>
        this.deliver(request, this.gateway(operation.gateway), operation.fate);
      const again = async (): Promise<void> => {
        if (!request.answered) await this.deliver(request, this.gateway(operation.gateway + 1), 'answered');
      };
      this.after(operation.delay + operation.patience, again);
      if (operation.delay > 0) {
        this.after(operation.delay, first);
      } else if (operation.next === 'meanwhile') {
        this.background(first());
      } else {
        await this.whileWhole(first());
      }
    }
  }

  private async deliver(
    request: Request,
    gateway: SimulatedGateway | undefined,
    fate: 'answered' | 'unanswered' | 'lost',
  ): Promise<void> {
    if (fate === 'lost' || gateway?.isUp !== true) return;
    const append = this.ledger.begin(request.reports.map(gatewayRecord));
    if (!(await gateway.send(request.task, request.reports))) return;
    this.ledger.acknowledge(append);
    if (fate === 'answered') request.answered = true;
  }

  /** Others wait for a log that is away. */
  private async smuggle(entry: ForeignEntry): Promise<void> {
    if (this.mend !== undefined) return this.after(1, () => this.smuggle(entry));
    const append = this.ledger.begin([{ ...entry, schema: entry.schema }]);
    await this.path.smuggle(entry);
    this.ledger.acknowledge(append);
  }

  private join(): Promise<void> {
    const { plan, commitsOffsets } = this.path;
    const gateway = new SimulatedGateway({
      plan,
      commitsOffsets,
      open: (process, onFailure) => this.path.open(process, onFailure),
      onFailure: (failure) => this.failures.push(failure),
      onDeath: (reason) => this.deaths.push(reason),
    });
    this.gateways.push(gateway);
    return gateway.started;
  }

  private async breakLog(breakage: Breakage, operations: number): Promise<void> {
    if (this.mend !== undefined) return;
    this.violence = true;
    this.ledger.wasBroken = true;
    this.mend = await this.path.breakLog(breakage);
    this.after(operations, () => this.repair());
  }

  private async repair(): Promise<void> {
    const { mend } = this;
    this.mend = undefined;
    await mend?.();
  }

  private async sweep(limit: number): Promise<void> {
    const gateway = this.gateways.find(({ isUp }) => isUp);
    if (this.mend !== undefined || gateway === undefined) return;
    this.ledger.read(await this.path.entries());
    await gateway
      .discard((partition) => this.ledger.lastRead(partition), limit)
      .catch((error: unknown) => {
        if (!this.violence) throw error;
      });
  }

  private async settle(): Promise<void> {
    await this.repair();
    await this.allUnderWay();
    await this.until('nothing waits', async () => (await (await this.anyGateway()).lag()) === 0);
  }

  /** Starts one where none is left, as a supervisor does. */
  private async anyGateway(): Promise<SimulatedGateway> {
    const alive = this.gateways.filter((gateway) => gateway.alive);
    if (alive.length === 0) void this.join().catch((error: unknown) => this.faults.push(error));
    const gateway = alive[0] ?? this.gateways[this.gateways.length - 1];
    await gateway.started;
    return gateway;
  }

  private gateway(number: number): SimulatedGateway | undefined {
    const alive = this.gateways.filter((gateway) => gateway.alive);
    return alive.length === 0 ? undefined : alive[number % alive.length];
  }

  /** One operation more has passed. */
  private async pass(): Promise<void> {
    this.operations++;
    const due = this.later.filter((one) => one.due <= this.operations);
    this.later = this.later.filter((one) => one.due > this.operations);
    for (const { act } of due) await this.whileWhole(act());
  }

  private after(operations: number, act: () => Promise<void>): void {
    this.later.push({ due: this.operations + operations, act });
  }

  /** Waits for the work, unless the log is away: then much would wait until it is back. */
  private async whileWhole(work: Promise<void> | undefined): Promise<void> {
    if (work === undefined) return;
    if (this.mend === undefined) await work;
    else this.background(work);
  }

  private background(work: Promise<void>): void {
    const ended = work
      .catch((error: unknown) => void this.faults.push(error))
      .finally(() => this.underWay.delete(ended));
    this.underWay.add(ended);
  }

  private async allUnderWay(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay);
  }

  private impatience(what: string, last: unknown): string {
    const failures = this.failures.slice(-3).map(({ error }) => `an ingest failed: ${messageOf(error)}`);
    const tried = last === undefined ? [] : [`the last try: ${messageOf(last)}`];
    return [`not in ${this.path.patienceMs} ms: ${what}`, ...tried, ...failures].join('; ');
  }

  private async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const end = Date.now() + this.path.patienceMs;
    let last: unknown;
    for (;;) {
      try {
        if (await holds()) return;
      } catch (error) {
        if (!this.violence) throw error;
        last = error;
      }
      if (Date.now() > end) throw new Error(this.impatience(what, last));
      await pause(1);
    }
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
