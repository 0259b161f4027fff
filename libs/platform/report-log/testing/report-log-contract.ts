import { REPORT_SCHEMA } from '@undertone/protocol';
import fc from 'fast-check';

import {
  type ConsumerFailure,
  type FailureListener,
  type LogBatch,
  type LogConsumer,
  type LogRecord,
  type ReportLog,
  type Subscription,
} from '../src/index';

export interface LogSettings {
  readonly onFailure: FailureListener;
  readonly maximumBatch?: number;
  readonly maximumWaiting?: number;
  readonly idleMs: readonly [number, number];
  readonly retryMs: readonly [number, number];
}

/** One log, empty at first, and further handles on it as other processes would have. */
export interface LogUnderTest {
  open(settings: LogSettings): ReportLog | Promise<ReportLog>;
  dispose(): Promise<void>;
}

export interface ContractLimits {
  /** What is awaited must come within this time; 5,000 unless given. */
  readonly withinMs?: number;
  /** Of each test; Jest's own unless given. */
  readonly testMs?: number;
}

/** Remembers what it was handed and how far it is, as a consumer's own store would. */
export class RecordingConsumer implements LogConsumer {
  readonly batches: LogBatch[] = [];
  readonly positions = new Map<number, bigint>();
  /** Runs before a batch counts as dealt with. */
  before: (batch: LogBatch) => Promise<void> = async () => undefined;

  constructor(readonly name = 'consumer') {}

  async positionOf(partition: number): Promise<bigint | undefined> {
    return this.positions.get(partition);
  }

  async handle(batch: LogBatch): Promise<void> {
    await this.before(batch);
    this.batches.push(batch);
    this.positions.set(batch.partition, batch.entries[batch.entries.length - 1].offset);
  }

  get values(): string[] {
    return this.batches.flatMap((batch) => batch.entries.map((entry) => text(entry.value)));
  }
}

export const record = (value: string, key = value): LogRecord => ({
  key: Buffer.from(key),
  value: Buffer.from(value),
});

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

const numbered = (count: number, prefix = ''): LogRecord[] =>
  Array.from({ length: count }, (_, i) => record(`${prefix}${i}`, 'one key'));

/** Waits for a condition; fails with what was awaited. */
export async function eventually(what: string, holds: () => boolean, withinMs = 5_000): Promise<void> {
  const end = Date.now() + withinMs;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** What every adapter of the port promises; `create` makes an empty log. */
export function describeReportLog(
  adapter: string,
  create: () => Promise<LogUnderTest>,
  { withinMs, testMs }: ContractLimits = {},
): void {
  const soon = (what: string, holds: () => boolean): Promise<void> => eventually(what, holds, withinMs);
  const it = (name: string, test: () => Promise<void>): void => globalThis.it(name, test, testMs);

  describe(`report log on ${adapter}`, () => {
    let underTest: LogUnderTest;
    let failures: ConsumerFailure[];
    let opened: ReportLog[];
    let subscriptions: Subscription[];

    const open = async (settings: Partial<LogSettings> = {}): Promise<ReportLog> => {
      const log = await underTest.open({
        onFailure: (f) => failures.push(f),
        idleMs: [2, 10],
        retryMs: [4, 100],
        ...settings,
      });
      opened.push(log);
      return log;
    };
    const subscribe = (log: ReportLog, consumer: LogConsumer): Subscription => {
      const subscription = log.subscribe(consumer);
      subscriptions.push(subscription);
      return subscription;
    };

    beforeEach(async () => {
      underTest = await create();
      failures = [];
      opened = [];
      subscriptions = [];
    });
    afterEach(async () => {
      await Promise.all(subscriptions.map((subscription) => subscription.stop()));
      await Promise.all(opened.map((log) => log.close()));
      await underTest.dispose();
    });

    it('hands over what was appended, bytes unchanged, in order, once', async () => {
      const log = await open();
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
      const consumer = new RecordingConsumer();
      const began = Date.now();
      subscribe(log, consumer);
      await log.append([{ key: bytes, value: bytes }]);
      await log.append([{ key: bytes, value: Buffer.alloc(0) }]);
      await log.append([]);
      await soon('both entries', () => consumer.values.length === 2);
      const entries = consumer.batches.flatMap((batch) => batch.entries);
      expect(Buffer.from(entries[0].value)).toEqual(bytes);
      expect(entries[1].value).toHaveLength(0);
      expect(entries.map((entry) => entry.schema)).toEqual([REPORT_SCHEMA, REPORT_SCHEMA]);
      expect(entries[1].offset).toBeGreaterThan(entries[0].offset);
      expect(Math.abs(entries[0].appendedAt.getTime() - began)).toBeLessThan(60_000);
    });

    it('keeps acknowledged entries for a process that starts later', async () => {
      const first = await open();
      await first.append(numbered(3));
      const consumer = new RecordingConsumer();
      subscribe(await open(), consumer);
      await soon('three entries', () => consumer.values.length === 3);
      expect(consumer.values).toEqual(['0', '1', '2']);
    });

    it('reads on from the position in the consumer’s store', async () => {
      const log = await open();
      await log.append(numbered(5));
      const consumer = new RecordingConsumer();
      const first = subscribe(log, consumer);
      await soon('five entries', () => consumer.values.length === 5);
      await first.stop();
      const { partition, entries } = consumer.batches[0];
      const second = new RecordingConsumer();
      second.positions.set(partition, entries[0].offset + 2n);
      subscribe(log, second);
      await soon('the rest', () => second.values.length === 2);
      expect(second.values).toEqual(['3', '4']);
    });

    it('cuts a backlog into batches of at most the maximum', async () => {
      const log = await open({ maximumBatch: 10 });
      await log.append(numbered(25));
      const consumer = new RecordingConsumer();
      subscribe(log, consumer);
      await soon('25 entries', () => consumer.values.length === 25);
      expect(consumer.batches.map((batch) => batch.entries.length)).toEqual([10, 10, 5]);
    });

    it('repeats a batch whose handler failed, from the position, and tells every failure', async () => {
      const log = await open({ maximumBatch: 2 });
      const consumer = new RecordingConsumer();
      let attempts = 0;
      consumer.before = async (batch) => {
        if (text(batch.entries[0].value) === '2' && ++attempts <= 2) throw new Error(`attempt ${attempts}`);
      };
      await log.append(numbered(5));
      subscribe(log, consumer);
      await soon('all entries', () => consumer.values.length === 5);
      expect(consumer.values).toEqual(['0', '1', '2', '3', '4']);
      expect(failures.map((f) => [(f.error as Error).message, f.attempt])).toEqual([
        ['attempt 1', 1],
        ['attempt 2', 2],
      ]);
      expect(failures[0]).toMatchObject({ consumer: 'consumer', partition: consumer.batches[0].partition });
      expect(failures[0].offsets).toEqual([
        consumer.batches[1].entries[0].offset,
        consumer.batches[1].entries[1].offset,
      ]);
    });

    it('tells a position that can’t be read, and goes on when it can', async () => {
      const log = await open();
      const consumer = new RecordingConsumer();
      let asked = 0;
      const positionOf = consumer.positionOf.bind(consumer);
      consumer.positionOf = async (partition) => {
        if (++asked === 1) throw new Error('store is away');
        return positionOf(partition);
      };
      await log.append(numbered(1));
      subscribe(log, consumer);
      await soon('the entry', () => consumer.values.length === 1);
      expect(failures.map((f) => (f.error as Error).message)).toEqual(['store is away']);
    });

    it('stop waits for the handler in flight, and none follows', async () => {
      const log = await open({ maximumBatch: 1 });
      const consumer = new RecordingConsumer();
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => (release = resolve));
      let began = false;
      consumer.before = async () => {
        began = true;
        await held;
      };
      await log.append(numbered(3));
      const subscription = subscribe(log, consumer);
      await soon('the handler', () => began);
      let stopped = false;
      const stopping = subscription.stop().then(() => (stopped = true));
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(stopped).toBe(false);
      release();
      await stopping;
      await log.append(numbered(1, 'late'));
      await new Promise((resolve) => setTimeout(resolve, 30));
      expect(consumer.values).toEqual(['0']);
    });

    it('tells when it was last active, also while nothing comes', async () => {
      const subscription = subscribe(await open(), new RecordingConsumer());
      const first = subscription.lastActiveAt().getTime();
      await soon('a later time', () => subscription.lastActiveAt().getTime() > first);
    });

    it('counts what waits, and discards only what the consumer is past', async () => {
      const log = await open({ maximumBatch: 4 });
      const consumer = new RecordingConsumer();
      expect(await log.lag(consumer)).toBe(0);
      expect(await log.discard(consumer, 10)).toBe(0);
      await log.append(numbered(10));
      expect(await log.lag(consumer)).toBe(10);
      expect(await log.discard(consumer, 10)).toBe(0);
      consumer.before = async (batch) => {
        if (text(batch.entries[0].value) !== '0') throw new Error('enough');
      };
      const subscription = subscribe(log, consumer);
      await soon('a failure after four', () => failures.length > 0);
      await subscription.stop();
      expect(await log.lag(consumer)).toBe(6);
      expect(await log.discard(consumer, 3)).toBe(3);
      expect(await log.discard(consumer, 3)).toBe(1);
      expect(await log.discard(consumer, 3)).toBe(0);
      consumer.before = async () => undefined;
      subscribe(log, consumer);
      await soon('the rest', () => consumer.values.length === 10);
      expect(consumer.values).toEqual(numbered(10).map((r) => text(r.value)));
      expect(await log.lag(consumer)).toBe(0);
    });

    it('refuses an append above its bound, and keeps what it accepted', async () => {
      const log = await open({ maximumWaiting: 10 });
      const results = await Promise.allSettled(
        [6, 4, 1, 3].map((count, i) => log.append(numbered(count, `${i}-`))),
      );
      expect(results.map((r) => r.status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected']);
      expect((results[2] as PromiseRejectedResult).reason).toMatchObject({
        code: 'report-log-full',
        retryAfterSeconds: expect.any(Number),
      });
      await log.append(numbered(12, 'larger than the bound, alone-'));
      const consumer = new RecordingConsumer();
      subscribe(log, consumer);
      await soon('22 entries', () => consumer.values.length === 22);
    });

    it('close answers what was accepted and refuses the rest', async () => {
      const log = await open();
      const accepted = log.append(numbered(3));
      const closing = log.close();
      await expect(log.append(numbered(1))).rejects.toMatchObject({ code: 'report-log-closed' });
      await accepted;
      await closing;
      const consumer = new RecordingConsumer();
      subscribe(await open(), consumer);
      await soon('three entries', () => consumer.values.length === 3);
    });

    it('one subscription of a name reads at a time; the next takes over from the position', async () => {
      const consumer = new RecordingConsumer();
      let running = 0;
      let most = 0;
      consumer.before = async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, 2));
        running--;
      };
      const log = await open({ maximumBatch: 5 });
      const first = subscribe(log, consumer);
      subscribe(await open({ maximumBatch: 5 }), consumer);
      for (let i = 0; i < 10; i++) await log.append(numbered(5, `${i}-`));
      await soon('some entries', () => consumer.values.length >= 10);
      await first.stop();
      for (let i = 10; i < 20; i++) await log.append(numbered(5, `${i}-`));
      await soon('all entries', () => consumer.values.length >= 100);
      expect(most).toBe(1);
      expect(consumer.values).toEqual(
        Array.from({ length: 20 }, (_, i) => numbered(5, `${i}-`).map((r) => text(r.value))).flat(),
      );
    });

    it('a consumer of another name sees every entry too', async () => {
      const log = await open();
      const consumers = [new RecordingConsumer('one'), new RecordingConsumer('two')];
      for (const consumer of consumers) subscribe(log, consumer);
      await log.append(numbered(4));
      for (const consumer of consumers) {
        await soon(`${consumer.name} has all`, () => consumer.values.length === 4);
      }
    });

    it('no interleaving of concurrent writers hides an entry from a reader that is past it', async () => {
      let positions = new Map<number, bigint>();
      await fc.assert(
        fc.asyncProperty(
          fc.array(
            fc.record({
              writer: fc.nat(2),
              sizes: fc.array(fc.constantFrom(1, 2, 30, 400), { maxLength: 3 }),
            }),
            { minLength: 1, maxLength: 8 },
          ),
          async (rounds) => {
            const writers = [await open(), await open(), await open()];
            const reader = await open({ maximumBatch: 50 });
            const consumer = new RecordingConsumer();
            for (const [partition, offset] of positions) consumer.positions.set(partition, offset);
            const subscription = subscribe(reader, consumer);
            const wanted: string[] = [];
            await Promise.all(
              rounds.flatMap(({ writer, sizes }, round) =>
                sizes.map((size, i) => {
                  const records = numbered(size, `${round}/${i}/`);
                  wanted.push(...records.map((r) => text(r.value)));
                  return writers[writer].append(records);
                }),
              ),
            );
            await soon(
              `${wanted.length} entries, not ${consumer.values.length}`,
              () => consumer.values.length >= wanted.length,
            );
            await subscription.stop();
            positions = consumer.positions;
            expect([...consumer.values].sort()).toEqual(wanted.sort());
            const offsets = consumer.batches.flatMap((batch) => batch.entries.map((entry) => entry.offset));
            for (let i = 1; i < offsets.length; i++) expect(offsets[i] > offsets[i - 1]).toBe(true);
          },
        ),
        { numRuns: 8 },
      );
    });
  });
}
