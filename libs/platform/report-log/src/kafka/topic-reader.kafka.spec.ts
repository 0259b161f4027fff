import net from 'node:net';

import { REPORT_SCHEMA } from '@undertone/protocol';
import { type Admin, CompressionCodecs, CompressionTypes, Kafka, logLevel, type Message } from 'kafkajs';

import { describeWithKafka, startKafkaCluster, testBrokers, uniqueTopic } from '../../testing/kafka-cluster';
import { eventually } from '../../testing/report-log-contract';
import { type ConsumerFailure, type LogBatch, type LogConsumer, type LogEntry } from '../report-log';
import { TopicReader, type TopicReaderSettings } from './topic-reader';
import { applyTopics, topicPlans } from './topics';

jest.setTimeout(60_000);

const SESSION_MS = 6_000;
const LONG_MS = 30_000;

const client = (brokers: readonly string[], line = new Line()): Kafka =>
  new Kafka({
    brokers: [...brokers],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 1_000,
    requestTimeout: 5_000,
    retry: { retries: 12, initialRetryTime: 100, maxRetryTime: 1_000 },
    socketFactory: line.connect,
  });

/** A process’s way to the brokers, which can be cut. */
class Line {
  private isCut = false;
  private readonly sockets = new Set<net.Socket>();

  readonly connect = ({ host, port, onConnect }: { host: string; port: number; onConnect: () => void }) => {
    const socket = this.isCut ? new net.Socket() : net.connect({ host, port }, onConnect);
    if (this.isCut) process.nextTick(() => socket.destroy(new Error('the line is cut')));
    this.sockets.add(socket);
    return socket as never;
  };

  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy(new Error('the line is cut'));
  }

  mend(): void {
    this.isCut = false;
  }
}

/** What several processes of a consumer share: positions and effects, changed at once, as in PostgreSQL. */
class SharedStore {
  readonly positions = new Map<number, bigint>();
  readonly effects = new Map<number, string[]>();
  private readonly running = new Map<number, number>();
  /** Handlers of one partition at a time, at most. */
  most = 0;

  get count(): number {
    return [...this.effects.values()].reduce((sum, of) => sum + of.length, 0);
  }

  enter(partition: number): void {
    const running = (this.running.get(partition) ?? 0) + 1;
    this.running.set(partition, running);
    this.most = Math.max(this.most, running);
  }

  leave(partition: number): void {
    this.running.set(partition, (this.running.get(partition) ?? 0) - 1);
  }

  store({ partition, entries }: LogBatch): void {
    const effects = this.effects.get(partition) ?? [];
    this.effects.set(partition, effects);
    for (const { offset, value } of entries) {
      if (offset <= (this.positions.get(partition) ?? -1n)) continue;
      effects.push(Buffer.from(value).toString());
      this.positions.set(partition, offset);
    }
  }
}

class StoreConsumer implements LogConsumer {
  readonly name = 'consumer';
  readonly batches: LogBatch[] = [];
  before: (batch: LogBatch) => Promise<void> = () => new Promise((resolve) => setTimeout(resolve, 2));

  constructor(readonly shared: SharedStore) {}

  async positionOf(partition: number): Promise<bigint | undefined> {
    return this.shared.positions.get(partition);
  }

  async handle(batch: LogBatch): Promise<void> {
    this.shared.enter(batch.partition);
    try {
      await this.before(batch);
      this.batches.push(batch);
      this.shared.store(batch);
    } finally {
      this.shared.leave(batch.partition);
    }
  }

  get entries(): LogEntry[] {
    return this.batches.flatMap((batch) => batch.entries);
  }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const numbered = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${from + i}`);

describeWithKafka('TopicReader', () => {
  let kafka: Kafka;
  let admin: Admin;
  let topic: string;
  let groupId: string;
  let failures: ConsumerFailure[];
  let warnings: string[];
  let readers: TopicReader[];
  let releases: (() => void)[];

  beforeAll(async () => {
    kafka = client(testBrokers());
    admin = kafka.admin();
    await admin.connect();
  });
  afterAll(() => admin?.disconnect());
  beforeEach(() => {
    topic = uniqueTopic('reader');
    groupId = `group.${topic}`;
    failures = [];
    warnings = [];
    readers = [];
    releases = [];
  });
  afterEach(async () => {
    for (const release of releases) release();
    await Promise.all(readers.map((reader) => reader.stop()));
  });

  const create = (partitions: number, settings: Record<string, string> = {}): Promise<boolean> =>
    admin.createTopics({
      topics: [
        {
          topic,
          numPartitions: partitions,
          configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })),
        },
      ],
    });

  const send = async (partition: number, messages: Message[], to: Kafka = kafka): Promise<void> => {
    const producer = to.producer({ idempotent: true, maxInFlightRequests: 1, allowAutoTopicCreation: false });
    await producer.connect();
    for (let i = 0; i < messages.length; i += 500) {
      const part = messages.slice(i, i + 500).map((message) => ({ ...message, partition }));
      await producer.send({ topic, acks: -1, messages: part });
    }
    await producer.disconnect();
  };
  const append = (partition: number, values: readonly string[], to?: Kafka): Promise<void> =>
    send(
      partition,
      values.map((value) => ({ value, headers: { schema: REPORT_SCHEMA } })),
      to,
    );

  /** Compressed by zstd, which kafkajs can't read. */
  const sendPacked = async (value: string): Promise<void> => {
    const missing = CompressionCodecs[CompressionTypes.ZSTD];
    CompressionCodecs[CompressionTypes.ZSTD] = () => ({
      compress: async ({ buffer }: { buffer: Buffer }) => zstd(buffer),
    });
    const producer = kafka.producer();
    await producer.connect();
    await producer.send({ topic, compression: CompressionTypes.ZSTD, messages: [{ value }] });
    await producer.disconnect();
    CompressionCodecs[CompressionTypes.ZSTD] = missing;
  };

  const read = (consumer: LogConsumer, settings: Partial<TopicReaderSettings> = {}): TopicReader => {
    const reader = new TopicReader({
      kafka,
      topic,
      consumer,
      groupId,
      onFailure: (failure) => failures.push(failure),
      onWarning: (line) => warnings.push(line),
      sessionTimeoutMs: SESSION_MS,
      retryMs: [10, 200],
      ...settings,
    });
    readers.push(reader);
    return reader;
  };
  /** Holds each handler until it is let go. */
  const held = (): { holding: () => number; hold: () => Promise<void>; letGo: () => void } => {
    let count = 0;
    let letGo = (): void => undefined;
    const gone = new Promise<void>((resolve) => (letGo = resolve));
    releases.push(() => letGo());
    return {
      holding: () => count,
      hold: async () => {
        count++;
        await gone;
      },
      letGo: () => letGo(),
    };
  };
  const members = async (of: Admin = admin): Promise<string[]> => {
    const { groups } = await of.describeGroups([groupId]);
    return groups[0].members.map(({ memberId }) => memberId).sort();
  };
  const untilNobodyIsIn = async (of: Admin = admin): Promise<void> => {
    let left = await members(of);
    for (let i = 0; i < 200 && left.length > 0; i++) {
      await sleep(100);
      left = await members(of);
    }
    expect(left).toEqual([]);
  };
  const committed = async (): Promise<number[]> => {
    const [of] = await admin.fetchOffsets({ groupId, topics: [topic] });
    return of.partitions.sort((a, b) => a.partition - b.partition).map(({ offset }) => Number(offset));
  };
  const expectEffects = (store: SharedStore, perPartition: Record<number, string[]>): void => {
    expect(Object.fromEntries(store.effects)).toEqual(perPartition);
  };

  it('hands over what was appended, in order, in batches of at most the maximum, and commits', async () => {
    await create(2);
    await append(0, numbered(0, 25));
    await append(1, numbered(100, 5));
    const consumer = new StoreConsumer(new SharedStore());
    const began = Date.now();
    read(consumer, { maximumBatch: 10 });
    await eventually('30 entries', () => consumer.shared.count === 30, LONG_MS);
    expectEffects(consumer.shared, { 0: numbered(0, 25), 1: numbered(100, 5) });
    expect(consumer.batches.filter((b) => b.partition === 0).map((b) => b.entries.length)).toEqual([
      10, 10, 5,
    ]);
    for (const { schema, appendedAt } of consumer.entries) {
      expect(schema).toBe(REPORT_SCHEMA);
      expect(Math.abs(appendedAt.getTime() - began)).toBeLessThan(60_000);
    }
    let offsets: number[] = [];
    for (let i = 0; i < 50 && offsets.join() !== '25,5'; i++) {
      await sleep(100);
      offsets = await committed();
    }
    expect(offsets).toEqual([25, 5]);
    expect(warnings).toEqual([]);
  });

  it('commits what was dealt with before it leaves', async () => {
    await create(1);
    await append(0, numbered(0, 10));
    const consumer = new StoreConsumer(new SharedStore());
    const reader = read(consumer);
    await eventually('10 entries', () => consumer.shared.count === 10, LONG_MS);
    await reader.stop();
    expect(await committed()).toEqual([10]);
    expect(await members()).toEqual([]);
  });

  describe('where it begins', () => {
    beforeEach(async () => {
      await create(1);
      await append(0, numbered(0, 20));
      const first = new StoreConsumer(new SharedStore());
      const reader = read(first);
      await eventually('20 entries', () => first.shared.count === 20, LONG_MS);
      await reader.stop();
      expect(await committed()).toEqual([20]);
    });

    it.each([
      ['in the middle', 4n, 5],
      ['empty', undefined, 0],
    ])(
      'is the store’s position, %s, though the committed offset is ahead and nothing new comes',
      async (_, position, next) => {
        const consumer = new StoreConsumer(new SharedStore());
        if (position !== undefined) consumer.shared.positions.set(0, position);
        read(consumer);
        await eventually('the rest', () => consumer.shared.count === 20 - next, LONG_MS);
        expectEffects(consumer.shared, { 0: numbered(next, 20 - next) });
      },
    );

    it('is the store’s position though the committed offset is behind', async () => {
      await append(0, numbered(20, 10));
      const consumer = new StoreConsumer(new SharedStore());
      consumer.shared.positions.set(0, 26n);
      read(consumer);
      await eventually('the rest', () => consumer.shared.count === 3, LONG_MS);
      expectEffects(consumer.shared, { 0: numbered(27, 3) });
      expect(consumer.entries).toHaveLength(3);
    });

    it('is the oldest entry where those after the position are gone', async () => {
      await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '15' }] });
      const consumer = new StoreConsumer(new SharedStore());
      consumer.shared.positions.set(0, 2n);
      read(consumer);
      await eventually('the rest', () => consumer.shared.count === 5, LONG_MS);
      expectEffects(consumer.shared, { 0: numbered(15, 5) });
    });

    it('is nowhere in a topic that ends before the position: that is told, and nothing is skipped', async () => {
      const consumer = new StoreConsumer(new SharedStore());
      consumer.shared.positions.set(0, 500n);
      read(consumer);
      await eventually('two failures', () => failures.length >= 2, LONG_MS);
      expect(failures[0]).toMatchObject({ partition: 0, error: { code: 'log-replaced' } });
      await append(0, numbered(20, 5));
      const count = failures.length;
      await eventually('further failures', () => failures.length > count + 1, LONG_MS);
      expect(consumer.shared.count).toBe(0);
      consumer.shared.positions.clear();
      await eventually('all, read from the start', () => consumer.shared.count === 25, LONG_MS);
    });
  });

  it('tells that its topic was replaced while it was reading', async () => {
    await create(1);
    await append(0, numbered(0, 50));
    const consumer = new StoreConsumer(new SharedStore());
    read(consumer);
    await eventually('50 entries', () => consumer.shared.count === 50, LONG_MS);
    await admin.deleteTopics({ topics: [topic] });
    for (let made = false; !made; await sleep(100)) made = await create(1).catch(() => false);
    await append(0, ['new']);
    await eventually('a failure', () => failures.length > 0, 45_000);
    expect(failures.at(-1)?.error).toMatchObject({ code: 'log-replaced' });
    expect(consumer.shared.count).toBe(50);
  });

  it('hands over whatever lies on the topic', async () => {
    await applyTopics(admin, [{ ...topicPlans({ partitions: 1 })[0], topic }]);
    const megabyte = Buffer.alloc(1024 * 1024, 7);
    await send(0, [
      { key: null, value: null },
      { key: 'k', value: '' },
      { key: null, value: 'no schema' },
      { value: 'twice', headers: { schema: ['first', REPORT_SCHEMA] } },
      { value: 'twice', headers: { schema: [REPORT_SCHEMA, 'last'] } },
      { value: 'other', headers: { schema: 'x'.repeat(5_000), __proto__: 'x', constructor: 'y' } },
      { value: 'empty', headers: { schema: '' } },
    ]);
    await send(0, [{ value: megabyte, headers: { schema: REPORT_SCHEMA } }]);
    await sendPacked('packed in a foreign way');
    const consumer = new StoreConsumer(new SharedStore());
    read(consumer);
    await eventually('nine entries', () => consumer.entries.length === 9, LONG_MS);
    const { entries } = consumer;
    expect(entries.slice(0, 2).map(({ value }) => value)).toEqual([new Uint8Array(0), Buffer.alloc(0)]);
    expect(entries.map(({ schema }) => schema)).toEqual([
      undefined,
      undefined,
      undefined,
      REPORT_SCHEMA,
      'last',
      'x'.repeat(200),
      '',
      REPORT_SCHEMA,
      undefined,
    ]);
    expect(megabyte.equals(entries[7].value)).toBe(true);
    expect(Buffer.from(entries[8].value).toString()).toBe('packed in a foreign way');
  });

  it('isn’t held up by a transaction that stays open, nor confused by the ends of others', async () => {
    await create(1);
    const transactional = kafka.producer({
      transactionalId: topic,
      maxInFlightRequests: 1,
      idempotent: true,
    });
    await transactional.connect();
    const consumer = new StoreConsumer(new SharedStore());
    read(consumer);
    for (let i = 0; i < 3; i++) {
      const transaction = await transactional.transaction();
      await transaction.send({ topic, messages: [{ value: `${2 * i}`, partition: 0 }] });
      await (i === 1 ? transaction.abort() : transaction.commit());
      await append(0, [`${2 * i + 1}`]);
      await eventually('both', () => consumer.shared.count === 2 * (i + 1), LONG_MS);
    }
    const open = await transactional.transaction();
    await open.send({ topic, messages: [{ value: '6', partition: 0 }] });
    await append(0, ['7']);
    await eventually('all', () => consumer.shared.count === 8, LONG_MS);
    await open.abort();
    await append(0, ['8']);
    await eventually('what follows', () => consumer.shared.count === 9, LONG_MS);
    expectEffects(consumer.shared, { 0: numbered(0, 9) });
    expect(failures).toEqual([]);
    await transactional.disconnect();
  });

  describe('a group', () => {
    const PARTITIONS = 4;
    beforeEach(() => create(PARTITIONS));

    /** Appends in small steps until it is told to end; resolves to what lies in each partition then. */
    const appending = (): { end: () => Promise<Record<number, string[]>> } => {
      let going = true;
      const counts = Array<number>(PARTITIONS).fill(0);
      const running = (async () => {
        const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
        await producer.connect();
        while (going) {
          for (let partition = 0; partition < PARTITIONS; partition++) {
            const messages = numbered(counts[partition], 20).map((value) => ({ value, partition }));
            await producer.send({ topic, messages });
            counts[partition] += 20;
          }
          await sleep(10);
        }
        await producer.disconnect();
      })();
      return {
        end: async () => {
          going = false;
          await running;
          return Object.fromEntries(counts.map((count, partition) => [partition, numbered(0, count)]));
        },
      };
    };
    const total = (all: Record<number, string[]>): number =>
      Object.values(all).reduce((sum, { length }) => sum + length, 0);

    it('shares partitions as readers join and leave: each entry once, in order, no partition with two at a time', async () => {
      const store = new SharedStore();
      const consumers = Array.from({ length: 3 }, () => new StoreConsumer(store));
      for (const consumer of consumers) consumer.before = () => sleep(5 + Math.random() * 40);
      const writing = appending();
      const opened = [read(consumers[0], { maximumBatch: 50 })];
      for (const consumer of consumers.slice(1)) {
        await eventually(
          'some more',
          (() => {
            const count = store.count;
            return () => store.count > count + 200;
          })(),
          LONG_MS,
        );
        opened.push(read(consumer, { maximumBatch: 50 }));
        await eventually('entries for the newcomer', () => consumer.batches.length > 0, LONG_MS);
      }
      await opened[0].stop();
      const left = consumers[0].batches.length;
      const before = store.count;
      await eventually('more', () => store.count > before + 400, LONG_MS);
      const all = await writing.end();
      await eventually('everything', () => store.count === total(all), LONG_MS);
      expectEffects(store, all);
      expect(store.most).toBe(1);
      expect(consumers[0].batches).toHaveLength(left);
      // Graceful hand-overs repeat nothing, even for a consumer that wouldn't notice.
      expect(consumers.flatMap((c) => c.entries)).toHaveLength(total(all));
      expect(failures).toEqual([]);
    });

    it('goes on without a reader whose line is cut in the middle of its handlers, and that ends them late', async () => {
      const store = new SharedStore();
      const [first, second] = [new StoreConsumer(store), new StoreConsumer(store)];
      const line = new Line();
      const { hold, holding, letGo } = held();
      const writing = appending();
      read(first, { kafka: client(testBrokers(), line) });
      await eventually('entries', () => first.batches.length > 4, LONG_MS);
      read(second);
      await eventually('both at work', () => second.batches.length > 4 && first.batches.length > 8, LONG_MS);
      first.before = hold;
      await eventually('two handlers', () => holding() === 2, LONG_MS);
      line.cut();
      const ahead = [0, 1, 2, 3].map((partition) => store.positions.get(partition) ?? -1n);
      await eventually(
        'progress everywhere',
        () => ahead.every((offset, partition) => (store.positions.get(partition) ?? -1n) > offset + 200n),
        LONG_MS,
      );
      letGo();
      const all = await writing.end();
      await eventually('everything', () => store.count === total(all), LONG_MS);
      expectEffects(store, all);
      line.mend();
    });

    it('keeps the session while a handler takes long, and the other partitions go on', async () => {
      const store = new SharedStore();
      const consumer = new StoreConsumer(store);
      const { hold, holding, letGo } = held();
      consumer.before = ({ partition }) => (partition === 0 ? hold() : sleep(1));
      const writing = appending();
      read(consumer);
      await eventually('the long handler', () => holding() === 1, LONG_MS);
      const before = await members();
      expect(before).toHaveLength(1);
      const began = Date.now();
      while (Date.now() - began < 2.5 * SESSION_MS) {
        const count = store.count;
        await eventually('entries of other partitions', () => store.count > count, LONG_MS);
        await sleep(500);
      }
      expect(await members()).toEqual(before);
      letGo();
      const all = await writing.end();
      await eventually('everything', () => store.count === total(all), LONG_MS);
      expectEffects(store, all);
      expect(holding()).toBeGreaterThanOrEqual(1);
      expect(consumer.entries).toHaveLength(total(all));
    });

    it('waits with sharing anew until a long handler has ended, and its session lasts', async () => {
      const store = new SharedStore();
      const [first, second] = [new StoreConsumer(store), new StoreConsumer(store)];
      const { hold, holding, letGo } = held();
      first.before = hold;
      for (let partition = 0; partition < PARTITIONS; partition++) await append(partition, numbered(0, 10));
      read(first);
      await eventually('handlers', () => holding() === PARTITIONS, LONG_MS);
      const [old] = await members();
      read(second);
      await sleep(1.5 * SESSION_MS);
      expect(second.batches).toEqual([]);
      expect(await members()).toContain(old);
      letGo();
      await eventually('everything', () => store.count === 10 * PARTITIONS, LONG_MS);
      expect(store.most).toBe(1);
      expect(first.entries).toHaveLength(10 * PARTITIONS);
      for (let partition = 0; partition < PARTITIONS; partition++) await append(partition, numbered(10, 10));
      await eventually('the new reader’s share', () => store.count === 20 * PARTITIONS, LONG_MS);
      expect(second.batches.length).toBeGreaterThan(0);
    });

    it('isn’t stopped by a partition whose handler fails, and reads that one on when it can', async () => {
      const store = new SharedStore();
      const consumer = new StoreConsumer(store);
      let failing = true;
      consumer.before = async ({ partition }) => {
        if (partition === 2 && failing) throw new Error('no');
      };
      const writing = appending();
      const reader = read(consumer, { maximumBatch: 50 });
      await eventually('many failures', () => failures.length > 10, LONG_MS);
      const since = [0, 1, 3].map((partition) => store.positions.get(partition) ?? -1n);
      await eventually(
        'progress of the others',
        () => [0, 1, 3].every((partition, i) => (store.positions.get(partition) ?? -1n) > since[i] + 300n),
        LONG_MS,
      );
      expect(store.positions.get(2)).toBeUndefined();
      expect(Date.now() - reader.lastActiveAt().getTime()).toBeLessThan(5_000);
      failing = false;
      const all = await writing.end();
      await eventually('everything', () => store.count === total(all), LONG_MS);
      expectEffects(store, all);
      expect(new Set(failures.map(({ partition }) => partition))).toEqual(new Set([2]));
    });

    describe('stop', () => {
      it('waits for the handlers that run, and none follows', async () => {
        const consumer = new StoreConsumer(new SharedStore());
        const { hold, holding, letGo } = held();
        consumer.before = hold;
        for (let partition = 0; partition < PARTITIONS; partition++) await append(partition, numbered(0, 30));
        const reader = read(consumer, { maximumBatch: 10 });
        await eventually('handlers', () => holding() === PARTITIONS, LONG_MS);
        let stopped = false;
        const stopping = reader.stop().then(() => (stopped = true));
        await sleep(300);
        expect(stopped).toBe(false);
        letGo();
        await stopping;
        expect(consumer.shared.count).toBe(10 * PARTITIONS);
        await sleep(300);
        expect(holding()).toBe(PARTITIONS);
        expect(await committed()).toEqual([10, 10, 10, 10]);
      });

      it('ends soon while it starts, and while the group shares partitions anew; nobody stays behind', async () => {
        for (const delay of [0, 5, 20, 60, 150, 400]) {
          const [one, two] = [0, 1].map(() => read(new StoreConsumer(new SharedStore())));
          await sleep(delay);
          const began = Date.now();
          await Promise.all([one.stop(), two.stop()]);
          expect(Date.now() - began).toBeLessThan(6_000);
        }
        await untilNobodyIsIn();
      });
    });
  });

  it('dies when kafkajs can’t go on, here by a compression that it doesn’t know', async () => {
    await create(1);
    await sendPacked('x');
    const reader = read(new StoreConsumer(new SharedStore()));
    expect((await reader.died).message).toMatch(/zstd/i);
    await reader.stop();
  });

  it('says that it is active while nothing comes', async () => {
    await create(1);
    const reader = read(new StoreConsumer(new SharedStore()));
    await sleep(1_500);
    expect(Date.now() - reader.lastActiveAt().getTime()).toBeLessThan(1_000);
  });

  it('reads on by itself after its broker was killed and started again; while that is away, it stops soon', async () => {
    const cluster = await startKafkaCluster({ brokers: 1 });
    const own = client(cluster.brokers);
    const ownAdmin = own.admin();
    try {
      await ownAdmin.connect();
      await ownAdmin.createTopics({ topics: [{ topic, numPartitions: 2 }] });
      const store = new SharedStore();
      const consumer = new StoreConsumer(store);
      const reader = read(consumer, { kafka: own });
      await append(0, numbered(0, 50), own);
      await eventually('50 entries', () => store.count === 50, LONG_MS);
      await cluster.kill(1);
      await sleep(3_000);
      await cluster.start(1);
      await append(0, numbered(50, 50), own);
      await append(1, numbered(0, 50), own);
      await eventually('150 entries', () => store.count === 150, LONG_MS);
      expectEffects(store, { 0: numbered(0, 100), 1: numbered(0, 50) });
      await cluster.kill(1);
      await sleep(500);
      const began = Date.now();
      await reader.stop();
      expect(Date.now() - began).toBeLessThan(5_000);
      await cluster.start(1);
      await append(0, ['late'], own);
      await untilNobodyIsIn(ownAdmin);
      expect(store.count).toBe(150);
    } finally {
      await ownAdmin.disconnect().catch(() => undefined);
      await cluster.close();
    }
  }, 120_000);
});

/** One frame of zstd that holds the bytes as they are (RFC 8878, 3.1.1: single segment, raw blocks). */
function zstd(bytes: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUInt32LE(0xfd2fb528, 0);
  head.writeUInt8(0b1010_0000, 4);
  head.writeUInt32LE(bytes.length, 5);
  const block = Buffer.alloc(3);
  block.writeUIntLE((bytes.length << 3) | 1, 0, 3);
  return Buffer.concat([head, block, bytes]);
}
