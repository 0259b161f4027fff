import { type DynamicModule } from '@nestjs/common';
import { type ServiceConfig } from '@undertone/config';
import { Readiness } from '@undertone/observability';
import {
  applyMigrations,
  connectStore,
  EmbeddedDatabase,
  MIGRATIONS_FOLDER,
  type Store,
} from '@undertone/store';
import { endWithin, stopOnSignal, type StopSignal } from '../lifecycle/shutdown';
import { createServiceApp, type ServiceApp, type ServiceSettings } from '../service-app';

export interface HostedServiceSettings extends Pick<
  ServiceSettings,
  'name' | 'version' | 'problems' | 'logDestination'
> {
  readonly config: ServiceConfig;
  /** The service's modules around the one store of the process, and around what else they are to share. */
  readonly modules: (
    store: Store,
    host: ServiceHost,
  ) => readonly DynamicModule[] | Promise<readonly DynamicModule[]>;
  /** Told what was done beyond the ordinary, a line each. */
  readonly onNotice: (line: string) => void;
}

/** What a host does for the modules of its service, besides the store. */
export interface ServiceHost {
  /**
   * Takes a resource over: it is closed once the service has stopped and before the store, the last one first; also where the start
   * fails.
   */
  keep<T extends { close(): Promise<void> }>(resource: T): T;
  /** Tells what was done beyond the ordinary, a line each. */
  readonly onNotice: (line: string) => void;
}

/** A service with all that it stands on: the database (embedded where none is configured), its migrations, one store, HTTP. */
export class HostedService {
  private stopping: Promise<void> | undefined;

  private constructor(
    /** Where it answers. */
    readonly url: string,
    private readonly config: ServiceConfig,
    private readonly stopParts: () => Promise<void>,
    /** Resolves with the reason when the service can't go on. */
    private readonly failed: Promise<Error>,
    /** Rejects when the embedded database ends although nobody stopped it. */
    private readonly databaseLost: Promise<never>,
  ) {}

  /**
   * Starts the parts in order; when one fails, those already started are stopped again.
   *
   * @throws StoreError, ServiceError or the failing part's own error, each naming what is wrong and what to do
   */
  static async start(settings: HostedServiceSettings): Promise<HostedService> {
    const { config, onNotice } = settings;
    let lose: (error: Error) => void = () => undefined;
    const databaseLost = new Promise<never>((_resolve, reject) => (lose = reject));
    databaseLost.catch(() => undefined);
    const database =
      config.databaseUrl === undefined
        ? await EmbeddedDatabase.start({ home: config.home, onNotice, onUnexpectedEnd: lose })
        : undefined;
    let store: Store | undefined;
    let app: ServiceApp | undefined;
    let stopping = false;
    const kept: { close(): Promise<void> }[] = [];
    const keep: ServiceHost['keep'] = (resource) => {
      kept.push(resource);
      return resource;
    };
    const stopParts = (): Promise<void> => {
      stopping = true;
      return inOrder([
        () => app?.stop(),
        ...kept.reverse().map((resource) => () => resource.close()),
        () => store?.close(),
        () => database?.stop(),
      ]);
    };
    try {
      const url = config.databaseUrl ?? database!.url;
      await applyMigrations(url, MIGRATIONS_FOLDER);
      store = connectStore(url, {
        max: config.databasePoolMax,
        statementTimeoutMs: config.databaseStatementTimeoutMs,
        applicationName: settings.name,
        onConnectionLost: (error) => {
          // A pool says it has ended before its sockets are closed, so the database's end may still reach one.
          if (!stopping) onNotice(`a database connection was lost: ${error.message}`);
        },
      });
      app = await createServiceApp(await settings.modules(store, { keep, onNotice }), settings);
      const { check } = store;
      app.nest.get(Readiness).add('database', check);
      return new HostedService(await app.listen(), config, stopParts, app.failed, databaseLost);
    } catch (error) {
      await stopParts().catch(() => undefined);
      throw error;
    }
  }

  /** Stops intake and work in flight, then the connections, then the database. A second call waits for the first. */
  stop(): Promise<void> {
    this.stopping ??= this.stopParts();
    return this.stopping;
  }

  /**
   * Serves until SIGINT or SIGTERM and then stops in order. Where the service itself can't go on, it is stopped as well, and the
   * reason is thrown: a new process may fare better.
   *
   * @throws {Error} when the service failed, when stopping failed or took longer than the configured time, or when the embedded
   * database was lost
   */
  async serve(onSignal?: (signal: StopSignal) => void): Promise<void> {
    const { shutdownTimeoutMs: timeoutMs } = this.config;
    const stop = (): Promise<void> => this.stop();
    const ended = await Promise.race([
      stopOnSignal({ stop, timeoutMs, onSignal }),
      this.failed.then((error) => ({ outcome: 'broken' as const, error })),
      this.databaseLost,
    ]);
    if (ended.outcome === 'broken') {
      await endWithin(timeoutMs, stop);
      throw ended.error;
    }
    if (ended.outcome === 'failed') throw ended.error;
    if (ended.outcome === 'timed-out') {
      throw new Error(`the service did not stop within ${timeoutMs} ms (UNDERTONE_SHUTDOWN_TIMEOUT_MS)`);
    }
  }
}

/** Every step, whatever became of those before it. @throws the first error */
async function inOrder(steps: readonly (() => Promise<void> | undefined)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

/** The whole of a service's `main.ts`: starts it, serves it, and ends the process with 0 (stopped in order) or 1. */
export async function runService(settings: Omit<HostedServiceSettings, 'onNotice'>): Promise<never> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  try {
    const service = await HostedService.start({ ...settings, onNotice: say });
    process.stdout.write(`${settings.name} answers at ${service.url}\n`);
    await service.serve();
    process.exit(0);
  } catch (error) {
    say(`error: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  }
}
