import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type DynamicModule } from '@nestjs/common';
import { loadConfig, serviceVariables } from '@undertone/config';
import { Liveness } from '@undertone/observability';
import { type Store } from '@undertone/store';
import { startEmptyDatabase } from '@undertone/store/testing';
import { HostedService, type ServiceHost } from './hosted-service';

class EmptyModule {}
const EMPTY: DynamicModule = { module: EmptyModule };

describe('HostedService', () => {
  const home = mkdtempSync(path.join(tmpdir(), 'undertone-hosted-'));
  let database: Awaited<ReturnType<typeof startEmptyDatabase>>;
  let store: Store | undefined;

  beforeAll(async () => {
    database = await startEmptyDatabase();
  });
  afterAll(async () => {
    await database.stop();
    rmSync(home, { recursive: true, force: true });
  });

  const start = (
    more: Record<string, string> = {},
    modules: (keep: ServiceHost['keep']) => DynamicModule[] | Promise<DynamicModule[]> = () => [EMPTY],
  ) =>
    HostedService.start({
      name: 'hosted',
      config: loadConfig(serviceVariables, {
        DATABASE_URL: database.url,
        UNDERTONE_HOME: home,
        UNDERTONE_PORT: '0',
        UNDERTONE_LOG_LEVEL: 'silent',
        ...more,
      }),
      onNotice: () => undefined,
      modules: (opened, { keep }) => {
        store = opened;
        return modules(keep);
      },
    });

  it('applies the migrations, answers, and closes its store when it stops', async () => {
    const service = await start();
    expect((await fetch(`${service.url}/health/ready`)).status).toBe(200);
    const { rows } = await store!.pool.query('SELECT count(*)::int AS tables FROM tasks');
    expect(rows).toEqual([{ tables: 0 }]);
    await Promise.all([service.stop(), service.stop()]);
    await expect(fetch(`${service.url}/health/ready`)).rejects.toThrow();
    expect(store!.pool.ended).toBe(true);
  });

  it('is not ready while its database does not answer', async () => {
    const service = await start();
    const ready = async () => {
      const answer = await fetch(`${service.url}/health/ready`);
      return { status: answer.status, text: await answer.text() };
    };
    expect(await ready()).toMatchObject({ status: 200, text: expect.stringContaining('"database"') });
    const away = jest.spyOn(store!.pool, 'query').mockImplementation(() => {
      throw new Error('connection refused');
    });
    expect(await ready()).toMatchObject({ status: 503, text: expect.stringContaining('connection refused') });
    away.mockRestore();
    expect((await ready()).status).toBe(200);
    await service.stop();
  });

  it('closes what it had opened when a module fails, and passes the error on', async () => {
    const broken = () => {
      throw new Error('no such trainer');
    };
    await expect(start({}, broken)).rejects.toThrow('no such trainer');
    expect(store!.pool.ended).toBe(true);
  });

  it('closes what it had opened when the port is taken, which it names', async () => {
    const holder = await new Promise<Server>((resolve) => {
      const server = createServer().listen(0, '127.0.0.1', () => resolve(server));
    });
    const { port } = holder.address() as { port: number };
    await expect(start({ UNDERTONE_PORT: String(port) })).rejects.toThrow(
      `port ${port} on 127.0.0.1 is in use`,
    );
    expect(store!.pool.ended).toBe(true);
    holder.close();
  });

  const closing = (name: string, closed: string[], error?: Error) => ({
    close: async () => {
      closed.push(`${name}, store ${store!.pool.ended ? 'closed' : 'open'}`);
      if (error !== undefined) throw error;
    },
  });

  it('closes what it was handed after the service and before the store, the last one first', async () => {
    const closed: string[] = [];
    const service = await start({}, async (keep) => {
      keep(closing('first', closed));
      keep(closing('second', closed));
      return [
        {
          module: class {},
          providers: [{ provide: 'end', useValue: { onApplicationShutdown: () => closed.push('service') } }],
        },
      ];
    });
    await service.stop();
    expect(closed).toEqual(['service', 'second, store open', 'first, store open']);
    expect(store!.pool.ended).toBe(true);
  });

  it('closes what it was handed where the start fails, and all the rest where one close fails', async () => {
    const closed: string[] = [];
    const failing = async (keep: ServiceHost['keep']) => {
      keep(closing('first', closed));
      keep(closing('second', closed, new Error('stuck')));
      throw new Error('no broker');
    };
    await expect(start({}, failing)).rejects.toThrow('no broker');
    expect(closed).toEqual(['second, store open', 'first, store open']);
    expect(store!.pool.ended).toBe(true);
  });

  describe('that can’t go on', () => {
    const fail = (liveness: Liveness) => liveness.fail(new Error('the reader is dead'));
    const broken = (resource?: { close(): Promise<void> }) =>
      start({ UNDERTONE_SHUTDOWN_TIMEOUT_MS: '200' }, (keep) => {
        if (resource) keep(resource);
        return [
          {
            module: class {},
            providers: [
              {
                provide: 'start',
                inject: [Liveness],
                useFactory: (liveness: Liveness) => ({
                  onApplicationBootstrap: () => setTimeout(fail, 50, liveness),
                }),
              },
            ],
          },
        ];
      });

    it('is stopped in order, and the reason is thrown', async () => {
      const service = await broken();
      await expect(service.serve()).rejects.toThrow('the reader is dead');
      expect(store!.pool.ended).toBe(true);
    });

    it('is given up when it does not stop in time', async () => {
      const never = { close: () => new Promise<void>(() => undefined) };
      const service = await broken(never);
      await expect(service.serve()).rejects.toThrow('the reader is dead');
      await store!.close();
    });
  });
});
