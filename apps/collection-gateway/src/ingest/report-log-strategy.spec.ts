import { Controller, type DynamicModule, type Type } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { type ConsumerFailure, type LogBatch, MemoryReportLog } from '@undertone/report-log';
import { createServiceApp, type ServiceApp, Transports } from '@undertone/service';

import { type OutcomeTally } from '../counts/outcome-counts';
import { type CheckedEntries } from './entry-check';
import { IngestConsumer } from './ingest-consumer';
import { IngestController } from './ingest.controller';
import { REPORT_BATCH, REPORT_LOG, ReportLogStrategy } from './report-log-strategy';

const failures: ConsumerFailure[] = [];
let log: MemoryReportLog;
let app: ServiceApp | undefined;

beforeEach(() => {
  failures.length = 0;
  log = new MemoryReportLog({
    onFailure: (failure) => failures.push(failure),
    idleMs: [1, 2],
    retryMs: [1, 2],
  });
});
afterEach(async () => {
  await app?.stop();
  app = undefined;
  await log.close();
});

const append = (text: string): Promise<void> =>
  log.append([{ key: Buffer.from('key'), value: Buffer.from(text) }]);

const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
};

/** A consumer's sink that writes what the spec says. */
class Sink {
  readonly written: bigint[] = [];
  readonly offsets: bigint[] = [];
  next: () => Promise<void> = async () => undefined;

  async positionOf(): Promise<bigint | undefined> {
    return this.written.at(-1);
  }

  async write(_partition: number, entries: CheckedEntries, last: bigint): Promise<OutcomeTally[]> {
    await this.next();
    this.offsets.push(...entries.unstorable.map(({ offset }) => offset));
    this.written.push(last);
    return [];
  }
}

const consumerOf = (sink: Sink): IngestConsumer =>
  new IngestConsumer(
    'ingest/memory',
    sink,
    async () => undefined,
    () => undefined,
  );

function moduleOf(controllers: Type[], consumer: IngestConsumer): DynamicModule {
  return {
    module: class GatewayOfSpec {},
    controllers,
    providers: [
      { provide: IngestConsumer, useValue: consumer },
      {
        provide: 'strategy',
        inject: [Transports],
        useFactory: (transports: Transports) => {
          const strategy = new ReportLogStrategy(log, consumer);
          transports.add(strategy);
          return strategy;
        },
      },
    ],
  };
}

async function start(controllers: Type[], consumer = consumerOf(new Sink())): Promise<void> {
  app = await createServiceApp(moduleOf(controllers, consumer), {
    name: 'strategy',
    config: { host: '127.0.0.1', port: 0, logLevel: 'silent' },
  });
  await app.listen();
}

it('hands each batch to the handler, and reads on from where the consumer says', async () => {
  const sink = new Sink();
  await append('0');
  await append('1');
  sink.written.push(0n);
  await start([IngestController], consumerOf(sink));
  await append('2');
  await until(() => sink.written.at(-1) === 2n);
  expect(sink.offsets).toEqual([1n, 2n]);
});

it('lets the log see the very error of a handler, and gives it the batch again', async () => {
  const sink = new Sink();
  const error = new Error('the table is locked');
  let tries = 0;
  sink.next = async () => {
    if (++tries < 3) throw error;
  };
  await start([IngestController], consumerOf(sink));
  await append('0');
  await until(() => sink.written.length > 0);
  expect(failures.map((failure) => failure.error)).toEqual([error, error]);
  expect(failures[0].error).toBe(error);
});

it('is closed only when its handler has ended', async () => {
  const sink = new Sink();
  let finish = (): void => undefined;
  let began = false;
  sink.next = () =>
    new Promise((resolve) => {
      began = true;
      finish = resolve;
    });
  await start([IngestController], consumerOf(sink));
  await append('0');
  await until(() => began);
  let stopped = false;
  const stopping = app!.stop().then(() => (stopped = true));
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
  expect(stopped).toBe(false);
  finish();
  await stopping;
  expect(sink.written).toEqual([0n]);
});

describe('a wiring that can’t be meant', () => {
  @Controller()
  class SecondController {
    @EventPattern(REPORT_BATCH, REPORT_LOG)
    ingest(_: LogBatch): void {}
  }

  @Controller()
  class OtherController {
    @EventPattern('report batches', REPORT_LOG)
    ingest(_: LogBatch): void {}
  }

  @Controller()
  class ElsewhereController {
    @EventPattern(REPORT_BATCH, Symbol('another transport'))
    ingest(_: LogBatch): void {}
  }

  it.each<[string, Type[], string]>([
    ['no handler', [ElsewhereController], 'there is none'],
    ['two handlers', [IngestController, SecondController], 'handlers of "report batch", "report batch"'],
    ['a handler of an event that never comes', [OtherController], 'handlers of "report batches"'],
  ])('%s stops the start', async (_, controllers, found) => {
    await expect(start(controllers)).rejects.toMatchObject({
      name: 'WiringError',
      code: 'wiring',
      message: expect.stringContaining(found),
    });
  });
});
