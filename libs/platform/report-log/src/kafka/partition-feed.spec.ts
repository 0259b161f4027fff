import fc from 'fast-check';

import { eventually } from '../../testing/report-log-contract';
import { type ConsumerFailure, type LogBatch, type LogConsumer, type LogEntry } from '../report-log';
import { PartitionFeed, type PartitionFeedSettings } from './partition-feed';

const PARTITION = 3;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const entry = (offset: bigint): LogEntry => ({
  offset,
  value: Buffer.from(`${offset}`),
  schema: 'schema',
  appendedAt: new Date(0),
});

/** A partition of a broker, and the client that fetches it where the feed says. */
class FakePartition {
  entries: LogEntry[] = [];
  first = 0n;
  next = 0n;
  cursor: bigint;
  paused = false;
  readonly seeks: bigint[] = [];
  pauses = 0;
  boundsFail = false;

  constructor(committed = 0n) {
    this.cursor = committed;
  }

  append(count: number): void {
    for (let i = 0; i < count; i++) this.entries.push(entry(this.next++));
  }

  /** Offsets that hold no entry, as a transaction's end. */
  leaveOut(count: number): void {
    this.next += BigInt(count);
  }

  discardBefore(offset: bigint): void {
    this.entries = this.entries.filter((e) => e.offset >= offset);
    this.first = offset;
  }

  seek(offset: bigint): void {
    this.seeks.push(offset);
    this.cursor = offset;
  }

  /** One fetch; what isn't taken is fetched again. */
  deliver(feed: PartitionFeed, limit = 4): boolean {
    if (this.paused) return false;
    if (this.cursor < this.first || this.cursor > this.next) this.cursor = this.first;
    const entries = this.entries.filter((e) => e.offset >= this.cursor).slice(0, limit);
    if (entries.length === 0) return false;
    const through = entries[entries.length - 1].offset;
    const taken = feed.take({ from: this.cursor, entries, through, end: this.next });
    if (taken) this.cursor = through + 1n;
    return taken;
  }
}

/** A consumer as the ingest is: skips what its store is past, and stores effects and position at once. */
class StoringConsumer implements LogConsumer {
  readonly name = 'consumer';
  position: bigint | undefined;
  effects: bigint[] = [];
  readonly batches: LogBatch[] = [];
  running = 0;
  most = 0;
  before: (batch: LogBatch) => Promise<void> = turn;
  after: (batch: LogBatch) => Promise<void> = async () => undefined;
  positionFails: () => boolean = () => false;

  async positionOf(partition: number): Promise<bigint | undefined> {
    expect(partition).toBe(PARTITION);
    await turn();
    if (this.positionFails()) throw new Error('the store is away');
    return this.position;
  }

  async handle(batch: LogBatch): Promise<void> {
    this.batches.push(batch);
    this.most = Math.max(this.most, ++this.running);
    try {
      await this.before(batch);
      this.store(batch.entries);
      await this.after(batch);
    } finally {
      this.running--;
    }
  }

  store(entries: readonly LogEntry[]): void {
    for (const { offset } of entries) {
      if (this.position !== undefined && offset <= this.position) continue;
      this.effects.push(offset);
      this.position = offset;
    }
  }
}

const upTo = (count: number): bigint[] => Array.from({ length: count }, (_, i) => BigInt(i));
const offsets = (batch: LogBatch): bigint[] => batch.entries.map((e) => e.offset);

describe('PartitionFeed', () => {
  let log: FakePartition;
  let consumer: StoringConsumer;
  let failures: ConsumerFailure[];
  let committed: bigint[];
  let feeds: PartitionFeed[];

  const open = (settings: Partial<PartitionFeedSettings> = {}): PartitionFeed => {
    const feed = new PartitionFeed({
      partition: PARTITION,
      consumer,
      maximumBatch: 10,
      maximumHeldBytes: 1_000,
      retryMs: [1, 4],
      onFailure: (failure) => failures.push(failure),
      after: Promise.resolve(),
      inTurn: (work) => work(),
      bounds: async () => {
        await turn();
        if (log.boundsFail) throw new Error('the brokers are away');
        return { first: log.first, next: log.next };
      },
      seek: (offset) => log.seek(offset),
      pause: () => {
        log.paused = true;
        log.pauses++;
      },
      resume: () => (log.paused = false),
      dealtWith: (before) => committed.push(before),
      ...settings,
    });
    feeds.push(feed);
    return feed;
  };
  /** Fetches, as often as is asked for, until the consumer has so many entries. */
  const readUntil = (feed: PartitionFeed, count: number): Promise<void> =>
    eventually(`${count} entries`, () => {
      log.deliver(feed);
      return consumer.effects.length >= count;
    });

  beforeEach(() => {
    log = new FakePartition();
    consumer = new StoringConsumer();
    failures = [];
    committed = [];
    feeds = [];
  });
  afterEach(async () => {
    for (const feed of feeds) feed.end();
    await Promise.all(feeds.map((feed) => feed.ended));
  });

  it('begins after the consumer’s position, wherever the committed offset is', async () => {
    log.append(10);
    for (const start of [0n, 3n, 7n, 10n]) {
      consumer.position = 4n;
      consumer.effects = [];
      log.cursor = start;
      const feed = open();
      await readUntil(feed, 5);
      expect(consumer.effects).toEqual([5n, 6n, 7n, 8n, 9n]);
      expect(log.seeks.pop()).toBe(5n);
      feed.end();
      await feed.ended;
    }
    expect(committed.pop()).toBe(10n);
  });

  it('begins at the oldest entry for a consumer that has seen none, and after entries that are gone', async () => {
    log.append(10);
    log.discardBefore(6n);
    const feed = open();
    await readUntil(feed, 4);
    expect(log.seeks).toEqual([6n]);
    feed.end();
    await feed.ended;
    consumer.position = 2n;
    await readUntil(open(), 8);
    expect(log.seeks).toEqual([6n, 6n]);
  });

  it('takes in more while the handler works, and hands over whole batches', async () => {
    const release: (() => void)[] = [];
    consumer.before = () => new Promise((resolve) => release.push(resolve));
    log.append(25);
    const feed = open();
    await eventually('the first handler', () => {
      log.deliver(feed, 5);
      return release.length === 1;
    });
    expect(log.deliver(feed, 5) && log.deliver(feed, 5) && log.deliver(feed, 10)).toBe(true);
    release[0]();
    await eventually('the second handler', () => release.length === 2);
    expect(consumer.batches.map((batch) => batch.entries.length)).toEqual([5, 10]);
    release[1]();
    await eventually('the third', () => release.length === 3);
    release[2]();
    await eventually('all', () => consumer.effects.length === 25);
    expect(consumer.effects).toEqual(upTo(25));
    expect(consumer.most).toBe(1);
  });

  describe('room', () => {
    let release = (): void => undefined;
    let feed: PartitionFeed;
    const held = async (settings: Partial<PartitionFeedSettings> = {}): Promise<void> => {
      consumer.before = () => new Promise((resolve) => (release = resolve));
      log.append(100);
      feed = open(settings);
      await eventually('an idle feed', () => feed.idleAt === 0n);
      log.deliver(feed, 5);
      await eventually('the handler', () => consumer.running === 1);
    };
    afterEach(() => {
      consumer.before = turn;
      release();
    });
    const takeUntilFull = async (limit: number): Promise<number> => {
      let taken = 0;
      while (await feed.room(1)) {
        expect(log.deliver(feed, limit)).toBe(true);
        taken++;
      }
      return taken;
    };

    it('ends with a batch that waits', async () => {
      await held();
      expect(await takeUntilFull(4)).toBe(3);
    });

    it('ends with the bytes that are held', async () => {
      await held({ maximumHeldBytes: 8 });
      expect(await takeUntilFull(4)).toBe(1);
    });

    it('ends with four fetches, small as they are, since each keeps its whole answer in memory', async () => {
      await held();
      expect(await takeUntilFull(1)).toBe(4);
    });

    it('comes as soon as the handler has ended, and resumes what was paused', async () => {
      await held();
      await takeUntilFull(4);
      const room = feed.room(5_000);
      feed.pause();
      expect(log.paused).toBe(true);
      release();
      expect(await room).toBe(true);
      expect(log.paused).toBe(false);
    });

    it('isn’t waited for while the consumer fails', async () => {
      consumer.before = async () => {
        throw new Error('no');
      };
      log.append(10);
      feed = open({ retryMs: [60_000, 60_000] });
      const began = Date.now();
      await eventually('a failure', () => {
        log.deliver(feed);
        return failures.length === 1;
      });
      expect(await feed.room(10_000)).toBe(false);
      expect(Date.now() - began).toBeLessThan(5_000);
    });
  });

  it('repeats what failed from memory, after asking for the position', async () => {
    log.append(6);
    let failed = 0;
    consumer.before = async (batch) => {
      if (offsets(batch)[0] === 0n && ++failed <= 3) throw new Error(`failure ${failed}`);
    };
    const feed = open();
    await readUntil(feed, 6);
    expect(failures.map(({ attempt, offsets: range }) => [attempt, range?.[0]])).toEqual([
      [1, 0n],
      [2, 0n],
      [3, 0n],
    ]);
    expect(log.seeks).toEqual([0n]);
    expect(consumer.effects).toEqual(upTo(6));
  });

  it('goes on behind what was stored although the handler failed', async () => {
    log.append(6);
    let failed = false;
    consumer.after = async () => {
      if (failed) return;
      failed = true;
      throw new Error('the answer to the commit was lost');
    };
    const feed = open();
    await readUntil(feed, 4);
    await eventually('the failure', () => failures.length === 1);
    await readUntil(feed, 6);
    expect(consumer.effects).toEqual(upTo(6));
    expect(consumer.batches.flatMap(offsets)).toEqual(upTo(6));
    expect(log.seeks).toEqual([0n]);
  });

  it.each([
    ['back', 1n, [2n, 3n, 4n, 5n, 6n, 7n]],
    ['empty', undefined, upTo(8)],
  ])('reads again when the store turns out to be %s', async (_, position, again) => {
    log.append(8);
    const feed = open();
    await readUntil(feed, 8);
    consumer.position = position;
    consumer.effects = [];
    let failed = false;
    consumer.before = async () => {
      if (failed) return;
      failed = true;
      throw new Error('the store was restored');
    };
    log.append(1);
    await readUntil(feed, again.length + 1);
    expect(consumer.effects).toEqual([...again, 8n]);
  });

  it('tells a position that can’t be read, keeps on asking, and lets nothing be taken meanwhile', async () => {
    log.append(3);
    let asked = 0;
    consumer.positionFails = () => ++asked <= 3;
    const feed = open();
    expect(log.deliver(feed)).toBe(false);
    await readUntil(feed, 3);
    expect(failures.map(({ error, attempt }) => [(error as Error).message, attempt])).toEqual([
      ['the store is away', 1],
      ['the store is away', 2],
      ['the store is away', 3],
    ]);
    expect(failures[0].offsets).toBeUndefined();
  });

  it('tells bounds that can’t be read', async () => {
    log.append(3);
    let looks = 0;
    const feed = open({
      bounds: async () => {
        if (++looks <= 2) throw new Error('the brokers are away');
        return { first: log.first, next: log.next };
      },
    });
    await readUntil(feed, 3);
    expect(failures.map(({ error }) => (error as Error).message)).toEqual([
      'the brokers are away',
      'the brokers are away',
    ]);
  });

  describe('a log that ends before the position', () => {
    it.each([5n, 7n])(
      'is told for as long as it lasts, and nothing of it is handed over: %p',
      async (position) => {
        log.append(5);
        consumer.position = position;
        let looks = 0;
        const feed = open({
          bounds: async () => {
            if (++looks === 4) log.append(4);
            return { first: log.first, next: log.next };
          },
        });
        await eventually('three failures', () => {
          if (failures.length < 3) expect(log.deliver(feed)).toBe(false);
          return failures.length === 3;
        });
        expect(failures[0].error).toMatchObject({
          code: 'log-replaced',
          message: expect.stringContaining(String(position)),
        });
        const missed = upTo(9).slice(Number(position) + 1);
        await readUntil(feed, missed.length);
        expect(consumer.effects).toEqual(missed);
      },
    );

    it('is noticed when it takes the other’s place while it is read', async () => {
      log.append(8);
      const feed = open();
      await readUntil(feed, 8);
      log = new FakePartition();
      log.append(2);
      await eventually('a failure', () => {
        log.deliver(feed);
        return failures.length > 0;
      });
      expect(failures[0].error).toMatchObject({ code: 'log-replaced' });
      expect(consumer.effects).toEqual(upTo(8));
    });

    it('at the position exactly, it has only nothing new', async () => {
      log.append(5);
      consumer.position = 4n;
      const feed = open();
      await eventually('an idle feed', () => feed.idleAt === 5n);
      expect(failures).toEqual([]);
    });
  });

  it('drops an answer to a question that it didn’t ask: what lies before it is unknown', async () => {
    log.append(20);
    const feed = open();
    await readUntil(feed, 4);
    const from = log.cursor + 4n;
    const late = log.entries.filter((e) => e.offset >= from);
    expect(feed.take({ from, entries: late, through: 19n, end: 20n })).toBe(false);
    await readUntil(feed, 20);
    expect(consumer.effects).toEqual(upTo(20));
  });

  it('tells of entries that are gone unread, and goes on after them', async () => {
    log.append(8);
    log.discardBefore(5n);
    consumer.position = 2n;
    const feed = open();
    await readUntil(feed, 3);
    expect(consumer.effects).toEqual([5n, 6n, 7n]);
    expect(failures).toEqual([
      expect.objectContaining({
        offsets: [3n, 4n],
        error: expect.objectContaining({ code: 'entries-gone' }),
      }),
    ]);
  });

  it('finds nothing amiss where what it has dealt with is gone', async () => {
    log.append(8);
    log.discardBefore(5n);
    consumer.position = 4n;
    await readUntil(open(), 3);
    expect(failures).toEqual([]);
  });

  it('takes of an answer that begins too early only what is new', async () => {
    log.append(6);
    const feed = open();
    await readUntil(feed, 4);
    expect(feed.take({ from: 0n, entries: [...log.entries], through: 5n, end: 6n })).toBe(true);
    log.cursor = 6n;
    await readUntil(feed, 6);
    expect(consumer.batches.flatMap(offsets)).toEqual(upTo(6));
  });

  it('passes over offsets that hold nothing', async () => {
    log.append(2);
    log.leaveOut(3);
    const feed = open();
    await readUntil(feed, 2);
    expect(feed.take({ from: 2n, entries: [], through: 4n, end: 5n })).toBe(true);
    log.cursor = 5n;
    await eventually('an idle feed', () => feed.idleAt === 5n);
    log.append(1);
    log.leaveOut(2);
    log.append(1);
    await readUntil(feed, 4);
    expect(consumer.effects).toEqual([0n, 1n, 5n, 8n]);
    expect(log.seeks).toEqual([0n]);
  });

  it('ends after the handler that runs; what follows is left to the next feed, which waits for it', async () => {
    log.append(12);
    let release = (): void => undefined;
    consumer.before = () => new Promise((resolve) => (release = resolve));
    const feed = open({ maximumBatch: 4 });
    await eventually('the handler', () => {
      log.deliver(feed, 12);
      return consumer.running === 1;
    });
    feed.end();
    const next = open({ after: feed.ended });
    consumer.before = turn;
    for (let i = 0; i < 20; i++) await turn();
    expect(consumer.batches).toHaveLength(1);
    expect(log.deliver(next)).toBe(false);
    release();
    await feed.ended;
    expect(consumer.effects).toEqual(upTo(4));
    await readUntil(next, 12);
    expect(consumer.effects).toEqual(upTo(12));
    expect(consumer.most).toBe(1);
  });

  it('ends at once in the pause after a failure', async () => {
    consumer.positionFails = () => true;
    const feed = open({ retryMs: [60_000, 60_000] });
    await eventually('a failure', () => failures.length === 1);
    feed.end();
    await feed.ended;
  });

  it('lets nothing be fetched any more once it has ended', async () => {
    let answer = (): void => undefined;
    const feed = open({
      bounds: async () => {
        await new Promise<void>((resolve) => (answer = resolve));
        return { first: 0n, next: 0n };
      },
    });
    for (let i = 0; i < 5; i++) await turn();
    feed.end();
    answer();
    await feed.ended;
    expect(log.seeks).toEqual([]);
    expect(await feed.room(10_000)).toBe(false);
    feed.pause();
    expect(log.pauses).toBe(0);
  });

  it('says since when it has been at work without a step, and nothing while it waits for entries', async () => {
    const feed = open();
    await eventually('an idle feed', () => feed.busyWithoutStepSince() === undefined);
    let release = (): void => undefined;
    consumer.before = () => new Promise((resolve) => (release = resolve));
    log.append(1);
    const began = Date.now();
    await eventually('the handler', () => {
      log.deliver(feed);
      return consumer.running === 1;
    });
    const since = feed.busyWithoutStepSince() as number;
    expect(since).toBeGreaterThanOrEqual(began);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(feed.busyWithoutStepSince()).toBe(since);
    expect(feed.idleAt).toBeUndefined();
    release();
    await eventually('an idle feed', () => feed.busyWithoutStepSince() === undefined);
  });

  it('is not at work while others have their turn', async () => {
    let begin = (): void => undefined;
    let waits = false;
    const turnComes = new Promise<void>((resolve) => (begin = resolve));
    const feed = open({ inTurn: (work) => ((waits = true), turnComes.then(work)) });
    log.append(1);
    await eventually('an entry that waits', () => {
      log.deliver(feed);
      return waits;
    });
    expect(feed.busyWithoutStepSince()).toBeUndefined();
    expect(feed.idleAt).toBeUndefined();
    let release = (): void => undefined;
    consumer.before = () => new Promise((resolve) => (release = resolve));
    begin();
    await eventually('the handler', () => consumer.running === 1);
    expect(feed.busyWithoutStepSince()).toBeDefined();
    release();
  });

  const operation = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant('append' as const), count: fc.integer({ min: 1, max: 9 }) }),
    },
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant('deliver' as const), limit: fc.integer({ min: 1, max: 12 }) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('wait' as const), turns: fc.integer({ min: 1, max: 12 }) }),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        { kind: 'fail before' as const },
        { kind: 'fail after' as const },
        { kind: 'position away' as const },
        { kind: 'bounds away' as const },
      ),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('leave out' as const),
        count: fc.integer({ min: 1, max: 3 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('wrong answer' as const),
        ahead: fc.integer({ min: 1, max: 6 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('rebalance' as const), cursor: fc.nat(60) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('other reader' as const),
        count: fc.integer({ min: 1, max: 9 }),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ kind: 'discard' as const }) },
  );

  it('whatever happens, every entry has its effect once and in order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 60 }), async (operations) => {
        log = new FakePartition();
        consumer = new StoringConsumer();
        failures = [];
        const pending = { 'fail before': 0, 'fail after': 0, 'position away': 0 };
        const fails = (kind: keyof typeof pending): boolean => pending[kind] > 0 && pending[kind]-- > 0;
        consumer.before = async () => {
          await turn();
          if (fails('fail before')) throw new Error('before');
        };
        consumer.after = async () => {
          await turn();
          if (fails('fail after')) throw new Error('after');
        };
        consumer.positionFails = () => fails('position away');
        let feed = open();
        const wanted: bigint[] = [];
        for (const op of operations) {
          if (op.kind === 'append') {
            for (let i = 0; i < op.count; i++) wanted.push(log.next + BigInt(i));
            log.append(op.count);
          } else if (op.kind === 'deliver') log.deliver(feed, op.limit);
          else if (op.kind === 'wait') for (let i = 0; i < op.turns; i++) await turn();
          else if (op.kind === 'leave out') log.leaveOut(op.count);
          else if (op.kind === 'bounds away') log.boundsFail = !log.boundsFail;
          else if (op.kind === 'discard') log.discardBefore((consumer.position ?? -1n) + 1n);
          else if (op.kind === 'wrong answer') {
            const from = log.cursor + BigInt(op.ahead);
            const entries = log.entries.filter((e) => e.offset >= from);
            const through = entries.at(-1)?.offset;
            if (through !== undefined) feed.take({ from, entries, through, end: log.next });
          } else if (op.kind === 'other reader') {
            const { position } = consumer;
            consumer.store(
              log.entries.filter((e) => position === undefined || e.offset > position).slice(0, op.count),
            );
          } else if (op.kind === 'rebalance') {
            feed.end();
            log.cursor = BigInt(Math.min(op.cursor, Number(log.next)));
            log.paused = false;
            feed = open({ after: feed.ended });
          } else pending[op.kind]++;
          if (!(await feed.room(0))) feed.pause();
        }
        log.boundsFail = false;
        await eventually(`${wanted.length} effects, not ${consumer.effects.length}`, () => {
          log.deliver(feed);
          return consumer.effects.length >= wanted.length;
        });
        expect(consumer.effects).toEqual(wanted);
        expect(consumer.most).toBeLessThanOrEqual(1);
        feed.end();
        await feed.ended;
      }),
      { numRuns: 300 },
    );
  }, 60_000);
});
