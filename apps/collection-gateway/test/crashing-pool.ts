import { type Pool, type PoolClient } from 'pg';

/** Where the connection is lost: in place of the n-th statement from now, or right after it was carried out. */
export interface CrashPoint {
  readonly statement: number;
  readonly when: 'before' | 'after';
}

/** A pool whose next transaction can lose its connection at any statement, as if the process had died there. */
export class CrashingPool {
  private armed: CrashPoint | undefined;
  private statements = 0;

  constructor(private readonly pool: Pool) {}

  crashAt(point: CrashPoint | undefined): void {
    this.armed = point;
    this.statements = 0;
  }

  /** False once the crash has happened. */
  get isArmed(): boolean {
    return this.armed !== undefined;
  }

  asPool(): Pool {
    return this.wrap(this.pool, {
      connect: async () => this.asClient(await this.pool.connect()),
    });
  }

  private asClient(client: PoolClient): PoolClient {
    return this.wrap(client, {
      query: async (...args: Parameters<PoolClient['query']>) => {
        const point = this.armed;
        const isHere = point !== undefined && ++this.statements === point.statement;
        if (isHere) this.armed = undefined;
        if (isHere && point.when === 'before') return lose(client);
        const result = await (client.query(...args) as unknown as Promise<unknown>);
        return isHere ? lose(client) : result;
      },
    });
  }

  private wrap<T extends object>(target: T, replaced: Record<string, unknown>): T {
    return new Proxy(target, {
      get(on, name) {
        if (typeof name === 'string' && name in replaced) return replaced[name];
        const value: unknown = Reflect.get(on, name, on);
        return typeof value === 'function' ? (value.bind(on) as unknown) : value;
      },
    });
  }
}

async function lose(client: PoolClient): Promise<never> {
  const { connection } = client as unknown as { connection: { stream: { destroy(): void } } };
  connection.stream.destroy();
  throw new Error('crashed here');
}
