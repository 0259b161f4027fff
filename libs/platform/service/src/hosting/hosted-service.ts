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
import { stopOnSignal, type StopSignal } from '../lifecycle/shutdown';
import { createServiceApp, type ServiceApp, type ServiceSettings } from '../service-app';

export interface HostedServiceSettings extends Pick<
  ServiceSettings,
  'name' | 'version' | 'problems' | 'logDestination'
> {
  readonly config: ServiceConfig;
  /** The service's modules around the one store of the process. */
  readonly modules: (store: Store) => readonly DynamicModule[];
  /** Told what was done beyond the ordinary, a line each. */
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
    const stopParts = async (): Promise<void> => {
      stopping = true;
      await app?.stop();
      await store?.close();
      await database?.stop();
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
      app = await createServiceApp(settings.modules(store), settings);
      const { check } = store;
      app.nest.get(Readiness).add('database', check);
      return new HostedService(await app.listen(), config, stopParts, databaseLost);
    } catch (error) {
      await stopParts();
      throw error;
    }
  }

  /** Stops intake and work in flight, then the connections, then the database. A second call waits for the first. */
  stop(): Promise<void> {
    this.stopping ??= this.stopParts();
    return this.stopping;
  }

  /**
   * Serves until SIGINT or SIGTERM and then stops in order.
   *
   * @throws {Error} when stopping failed or took longer than the configured time, or the embedded database was lost
   */
  async serve(onSignal?: (signal: StopSignal) => void): Promise<void> {
    const { shutdownTimeoutMs: timeoutMs } = this.config;
    const stopped = await Promise.race([
      stopOnSignal({ stop: () => this.stop(), timeoutMs, onSignal }),
      this.databaseLost,
    ]);
    if (stopped.outcome === 'failed') throw stopped.error;
    if (stopped.outcome === 'timed-out') {
      throw new Error(`the service did not stop within ${timeoutMs} ms (UNDERTONE_SHUTDOWN_TIMEOUT_MS)`);
    }
  }
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
