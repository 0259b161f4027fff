import { type Pool, type PoolClient } from 'pg';

import { type Crash, CrashPlan } from './crash-plan';
import { type SimulatedProcess } from './simulated-process';

/** Where the connection is lost: in place of the n-th statement from now, or right after it was carried out. */
export interface CrashPoint {
  readonly statement: number;
  readonly when: 'before' | 'after';
}

/** A pool whose transactions lose their connection, or their whole process, at the statement that a plan names. */
export class CrashingPool {
  constructor(
    private readonly pool: Pool,
    private readonly plan = new CrashPlan(),
    private readonly process?: SimulatedProcess,
  ) {}

  crashAt({ statement, when }: CrashPoint): void {
    this.plan.arm({ step: { at: 'statement', number: statement }, when, loses: 'connection' });
  }

  /** False once the crash has happened. */
  get isArmed(): boolean {
    return this.plan.isArmed;
  }

  asPool(): Pool {
    return replacing(this.pool, { connect: async () => this.asClient(await this.pool.connect()) });
  }

  private asClient(client: PoolClient): PoolClient {
    const query = client.query.bind(client) as (...statement: unknown[]) => unknown;
    return replacing(client, {
      query: (...statement: unknown[]) => {
        const crash = this.plan.reach('statement');
        if (crash === undefined) return query(...statement);
        const lose = (): void => this.lose(client, crash);
        if (isStream(statement[0])) return loseAround(lose, crash, () => query(...statement));
        return this.lostStatement(lose, crash, async () => query(...statement));
      },
    });
  }

  private async lostStatement(lose: () => void, { when }: Crash, carryOut: () => unknown): Promise<never> {
    if (when === 'after') await carryOut();
    lose();
    throw new Error('crashed here');
  }

  private lose(client: PoolClient, { loses }: Crash): void {
    if (loses === 'process') return this.process?.kill();
    const { connection } = client as unknown as { connection: { stream: { destroy(): void } } };
    connection.stream.destroy();
  }
}

const isStream = (statement: unknown): boolean =>
  typeof (statement as { submit?: unknown }).submit === 'function';

/** A stream fails by itself when its connection does. */
function loseAround(lose: () => void, { when }: Crash, carryOut: () => unknown): unknown {
  if (when === 'before') lose();
  const stream = carryOut() as NodeJS.WritableStream;
  if (when === 'after') stream.once('finish', lose);
  return stream;
}

function replacing<T extends object>(target: T, replaced: Record<string, unknown>): T {
  return new Proxy(target, {
    get(on, name) {
      if (typeof name === 'string' && name in replaced) return replaced[name];
      const value: unknown = Reflect.get(on, name, on);
      return typeof value === 'function' ? (value.bind(on) as unknown) : value;
    },
  });
}
