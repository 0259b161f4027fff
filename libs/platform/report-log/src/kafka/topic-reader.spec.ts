import { EventEmitter } from 'node:events';

import { REPORT_SCHEMA } from '@undertone/protocol';
import {
  type Assigner,
  type Consumer,
  type ConsumerConfig,
  type ConsumerRunConfig,
  type Kafka,
} from 'kafkajs';

import { type ConsumerFailure, type LogBatch, type LogConsumer } from '../report-log';
import { TopicReader, type TopicReaderSettings } from './topic-reader';

// Jest's fake timers leave these alone.
jest.mock('node:timers/promises', () => ({
  setTimeout: (ms: number, value: unknown, { signal }: { signal?: AbortSignal } = {}) =>
    new Promise((resolve, reject) => {
      const abort = (): void => reject(new Error('aborted'));
      if (signal?.aborted === true) return abort();
      signal?.addEventListener('abort', abort);
      setTimeout(() => {
        signal?.removeEventListener('abort', abort);
        resolve(value);
      }, ms);
    }),
}));

const TOPIC = 'topic';
const GROUP_JOIN = 'consumer.group_join';
const EVENTS = {
  FETCH: 'consumer.fetch',
  FETCH_START: 'consumer.fetch_start',
  HEARTBEAT: 'consumer.heartbeat',
  REBALANCING: 'consumer.rebalancing',
  CONNECT: 'consumer.connect',
  GROUP_JOIN,
  START_BATCH_PROCESS: 'consumer.start_batch_process',
  STOP: 'consumer.stop',
  CRASH: 'consumer.crash',
};

/** The part of kafkajs that a reader sees, moved by hand. */
class FakeClient {
  readonly emitter = new EventEmitter();
  config!: ConsumerConfig;
  assigner!: Assigner;
  running: ConsumerRunConfig | undefined;
  readonly ends = new Map<number, bigint>();
  readonly leaderless = new Set<number>();
  readonly commits: [partition: number, offset: string][] = [];
  readonly seeks: [partition: number, offset: string][] = [];
  readonly paused = new Set<number>();
  disconnects = 0;
  heartbeats = 0;
  connect = async (): Promise<void> => undefined;
  beforeCommit = async (): Promise<void> => undefined;

  readonly kafka = {
    consumer: (config: ConsumerConfig): Consumer => {
      this.config = config;
      const cluster = {
        refreshMetadata: async () => undefined,
        fetchTopicsOffset: async ([{ topic, partitions, fromBeginning }]: [
          { topic: string; partitions: { partition: number }[]; fromBeginning: boolean },
        ]) => {
          if (partitions.some(({ partition }) => this.leaderless.has(partition)))
            throw new Error('no leader');
          return [
            {
              topic,
              partitions: partitions.map(({ partition }) => ({
                partition,
                offset: fromBeginning ? '0' : `${this.ends.get(partition) ?? 0n}`,
              })),
            },
          ];
        },
      };
      const [create] = config.partitionAssigners ?? [];
      this.assigner = create({ cluster, groupId: config.groupId, logger: undefined } as never);
      return {
        events: EVENTS,
        on: (name: string, listener: (event: unknown) => void) => this.emitter.on(name, listener),
        connect: () => this.connect(),
        subscribe: async () => undefined,
        run: async (running: ConsumerRunConfig) => {
          this.running = running;
        },
        pause: ([{ partitions = [] }]: [{ partitions?: number[] }]) => {
          for (const partition of partitions) this.paused.add(partition);
        },
        resume: ([{ partitions = [] }]: [{ partitions?: number[] }]) => {
          for (const partition of partitions) this.paused.delete(partition);
        },
        seek: ({ partition, offset }: { partition: number; offset: string }) => {
          this.seeks.push([partition, offset]);
        },
        commitOffsets: async (offsets: { partition: number; offset: string }[]) => {
          await this.beforeCommit();
          for (const { partition, offset } of offsets) this.commits.push([partition, offset]);
        },
        disconnect: async () => {
          this.disconnects++;
        },
      } as unknown as Consumer;
    },
  } as Pick<Kafka, 'consumer'>;

  emit(name: keyof typeof EVENTS, payload: object = {}): void {
    this.emitter.emit(EVENTS[name], { payload });
  }

  join(partitions: readonly number[]): void {
    this.assigner.protocol({ topics: [TOPIC] });
    this.emit('GROUP_JOIN', { memberAssignment: { [TOPIC]: [...partitions] } });
  }

  /** Fetched: entries of these offsets, the partition going to `end`. */
  async deliver(partition: number, from: number, count: number, end = from + count): Promise<number> {
    let resolved = from;
    const messages = Array.from({ length: count }, (_, i) => ({
      offset: `${from + i}`,
      timestamp: '1000',
      key: null,
      value: Buffer.from(`${from + i}`),
      headers: { schema: Buffer.from(REPORT_SCHEMA) },
    }));
    await this.running?.eachBatch?.({
      batch: {
        topic: TOPIC,
        partition,
        highWatermark: `${end}`,
        messages,
        fetchedOffset: `${from}`,
        lastOffset: () => `${from + count - 1}`,
      },
      isStale: () => false,
      heartbeat: async () => {
        this.heartbeats++;
      },
      resolveOffset: (offset: string) => (resolved = Number(offset) + 1),
    } as never);
    return resolved;
  }
}

class FakeConsumer implements LogConsumer {
  readonly name = 'consumer';
  readonly positions = new Map<number, bigint>();
  readonly batches: LogBatch[] = [];
  running = 0;
  most = 0;
  before: () => Promise<void> = async () => undefined;

  async positionOf(partition: number): Promise<bigint | undefined> {
    return this.positions.get(partition);
  }

  async handle(batch: LogBatch): Promise<void> {
    this.most = Math.max(this.most, ++this.running);
    await this.before();
    this.running--;
    this.batches.push(batch);
    this.positions.set(batch.partition, batch.entries[batch.entries.length - 1].offset);
  }
}

describe('TopicReader', () => {
  let client: FakeClient;
  let consumer: FakeConsumer;
  let failures: ConsumerFailure[];
  let warnings: string[];
  let reader: TopicReader;
  let release: () => void;

  const open = (settings: Partial<TopicReaderSettings> = {}): TopicReader =>
    (reader = new TopicReader({
      kafka: client.kafka,
      topic: TOPIC,
      consumer,
      groupId: 'group',
      onFailure: (failure) => failures.push(failure),
      onWarning: (line) => warnings.push(line),
      ...settings,
    }));
  const hold = (): Promise<void> => new Promise((resolve) => (release = resolve));
  const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
  const ageMs = (): number => Date.now() - reader.lastActiveAt().getTime();
  /** A loop as kafkajs runs one. */
  const fetching = async (ms: number): Promise<void> => {
    for (let t = 0; t < ms; t += 200) {
      client.emit('FETCH_START');
      await pass(200);
      client.emit('FETCH');
    }
  };

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    client = new FakeClient();
    consumer = new FakeConsumer();
    failures = [];
    warnings = [];
    release = () => undefined;
  });
  afterEach(async () => {
    consumer.before = async () => undefined;
    release();
    const stopping = reader.stop();
    await pass(5_000);
    await stopping;
    jest.useRealTimers();
  });

  describe('lastActiveAt', () => {
    beforeEach(async () => {
      open();
      await pass(0);
      client.join([0, 1]);
      await pass(0);
    });

    it('is now while kafkajs fetches, and then, when that goes silent', async () => {
      await fetching(60_000);
      expect(ageMs()).toBeLessThan(1_000);
      await pass(90_000);
      expect(ageMs()).toBeGreaterThanOrEqual(90_000);
      client.emit('HEARTBEAT');
      expect(ageMs()).toBe(0);
    });

    it('is old when a handler hangs, though kafkajs fetches', async () => {
      consumer.before = hold;
      void client.deliver(0, 0, 3);
      await fetching(30_000);
      expect(consumer.running).toBe(1);
      expect(ageMs()).toBeGreaterThanOrEqual(29_000);
      release();
      await fetching(1_000);
      expect(ageMs()).toBeLessThan(1_000);
    });

    it('is old when a partition isn’t fetched although it has entries, and kafkajs fetches others', async () => {
      client.ends.set(1, 5n);
      await fetching(60_000);
      expect(ageMs()).toBeGreaterThanOrEqual(45_000);
      void client.deliver(1, 0, 5);
      await fetching(11_000);
      expect(ageMs()).toBeLessThan(1_000);
    });

    it('is now with a partition that is read, though another can’t be asked for its end', async () => {
      client.ends.set(1, 1n);
      await fetching(15_000);
      expect(ageMs()).toBeGreaterThanOrEqual(4_000);
      client.leaderless.add(0);
      void client.deliver(1, 0, 1);
      await fetching(60_000);
      expect(ageMs()).toBeLessThan(1_000);
    });

    it('is old with a partition that isn’t fetched, though another can’t be asked for its end', async () => {
      client.leaderless.add(0);
      client.ends.set(1, 1n);
      await fetching(60_000);
      expect(ageMs()).toBeGreaterThanOrEqual(45_000);
    });

    it('is now with a partition that can’t be asked: that its broker is away is no fault of the reader', async () => {
      client.ends.set(1, 1n);
      await fetching(15_000);
      client.leaderless.add(1);
      await fetching(60_000);
      expect(ageMs()).toBeLessThan(1_000);
    });

    it('is now with a partition that always gets more than was fetched', async () => {
      for (let offset = 0; offset < 30; offset++) {
        client.ends.set(1, BigInt(offset + 5));
        void client.deliver(1, offset, 1, offset + 5);
        await fetching(2_000);
        expect(ageMs()).toBeLessThan(11_000);
      }
    });
  });

  describe('died', () => {
    const outcome = async (): Promise<unknown> => {
      await pass(0);
      return Promise.race([reader.died, Promise.resolve('alive')]);
    };

    it('tells a crash that kafkajs doesn’t restart after, and no other', async () => {
      open();
      await pass(0);
      client.emit('CRASH', { error: new Error('first'), restart: true });
      expect(await outcome()).toBe('alive');
      expect(warnings).toEqual([expect.stringContaining('first')]);
      client.emit('CRASH', { error: new Error('second'), restart: false });
      expect(await outcome()).toMatchObject({ message: 'second' });
    });

    it('says nothing of a crash after a stop, which kafkajs isn’t to restart after', async () => {
      open();
      await pass(0);
      expect(await client.config.retry?.restartOnFailure?.(new Error('early'))).toBe(true);
      await reader.stop();
      expect(await client.config.retry?.restartOnFailure?.(new Error('late'))).toBe(false);
      client.emit('CRASH', { error: new Error('late'), restart: false });
      expect(await outcome()).toBe('alive');
    });

    it('tells why it can’t begin; what may pass is tried again', async () => {
      let tries = 0;
      client.connect = async () => {
        tries++;
        const retriable = tries < 4;
        throw Object.assign(new Error(`try ${tries}`), retriable ? { retriable } : {}, {
          name: 'KafkaJSError',
        });
      };
      open();
      await pass(10_000);
      expect(tries).toBe(4);
      expect(await outcome()).toMatchObject({ message: 'try 4' });
      expect(warnings).toHaveLength(3);
    });

    it('has its handlers ended by a crash', async () => {
      open();
      await pass(0);
      client.join([0]);
      await pass(0);
      consumer.before = hold;
      void client.deliver(0, 0, 3, 10);
      await pass(0);
      client.emit('STOP');
      void client.deliver(0, 3, 3, 10);
      consumer.before = async () => undefined;
      release();
      await pass(100);
      expect(consumer.batches).toHaveLength(1);
    });
  });

  describe('when the group shares partitions anew', () => {
    const join = (): unknown => {
      try {
        client.assigner.protocol({ topics: [TOPIC] });
        return undefined;
      } catch (error) {
        return error;
      }
    };

    beforeEach(async () => {
      open();
      await pass(0);
      client.join([0, 1]);
      await pass(0);
    });

    it('doesn’t join while a handler runs, but keeps its session; no other handler begins', async () => {
      consumer.before = hold;
      void client.deliver(0, 0, 3, 10);
      await pass(0);
      for (let i = 1; i <= 3; i++) {
        expect(join()).toMatchObject({ type: 'REBALANCE_IN_PROGRESS' });
        expect(client.heartbeats).toBe(i);
      }
      void client.deliver(0, 3, 3, 10);
      void client.deliver(1, 0, 3, 10);
      release();
      await pass(0);
      expect(consumer.batches).toHaveLength(1);
      expect(join()).toBeUndefined();
    });

    it('joins all the same when the handler takes longer than the others can be made to wait', async () => {
      consumer.before = hold;
      void client.deliver(0, 0, 3);
      await pass(0);
      expect(join()).toBeDefined();
      await pass(29_000);
      expect(join()).toBeDefined();
      await pass(2_000);
      expect(join()).toBeUndefined();
      client.emit('GROUP_JOIN', { memberAssignment: { [TOPIC]: [0] } });
      await pass(0);
      void client.deliver(0, 0, 3);
      await pass(10_000);
      expect(consumer.most).toBe(1);
    });

    it('joins no more once it is stopped', async () => {
      await reader.stop();
      expect(join()).toMatchObject({ retriable: false });
    });

    it('asks for the position again, resumes what was paused, and takes nothing that isn’t its own', async () => {
      consumer.before = hold;
      void client.deliver(0, 0, 3, 100);
      await pass(0);
      for (let from = 3; from < 30; from += 3) {
        void client.deliver(0, from, 3, 100);
        await pass(2_000);
      }
      expect(join()).toBeDefined();
      consumer.before = async () => undefined;
      release();
      await pass(100);
      expect(client.paused).toEqual(new Set([0]));
      client.seeks.length = 0;
      client.ends.set(0, 100n);
      consumer.positions.set(0, 49n);
      client.join([0]);
      await pass(0);
      expect(client.paused).toEqual(new Set());
      expect(client.seeks).toEqual([[0, '50']]);
      const handled = consumer.batches.length;
      expect(await client.deliver(1, 0, 3)).toBe(0);
      expect(consumer.batches).toHaveLength(handled);
      expect(await client.deliver(0, 50, 3, 100)).toBe(53);
      await pass(0);
      expect(consumer.batches.at(-1)?.entries[0].offset).toBe(50n);
    });
  });

  it('runs so many handlers at a time', async () => {
    open({ maximumHandlers: 2 });
    await pass(0);
    client.join([0, 1, 2, 3]);
    await pass(0);
    consumer.before = () => new Promise((resolve) => setTimeout(resolve, 100));
    for (const partition of [0, 1, 2, 3]) void client.deliver(partition, 0, 3);
    await pass(150);
    expect(consumer.batches).toHaveLength(2);
    await pass(100);
    expect(consumer.batches).toHaveLength(4);
    expect(consumer.most).toBe(2);
  });

  it('commits what was dealt with, the newest only, and goes on although that fails', async () => {
    open();
    await pass(0);
    client.join([0]);
    await pass(0);
    let failing = true;
    client.beforeCommit = async () => {
      if (failing) throw new Error('no coordinator');
    };
    for (const from of [0, 3, 6]) {
      void client.deliver(0, from, 3, 9);
      await pass(50);
    }
    expect(consumer.positions.get(0)).toBe(8n);
    await pass(7_000);
    expect(warnings).toEqual([expect.stringContaining('no coordinator')]);
    failing = false;
    client.commits.length = 0;
    await pass(3_000);
    expect(client.commits).toEqual([[0, '9']]);
    expect(failures).toEqual([]);
  });

  it('takes no partitions that come to it while it stops', async () => {
    open();
    await pass(0);
    let asked = 0;
    consumer.positionOf = async () => (asked++, undefined);
    const stopping = reader.stop();
    client.emit('GROUP_JOIN', { memberAssignment: { [TOPIC]: [0] } });
    await pass(100);
    await stopping;
    expect(asked).toBe(0);
  });

  it('disconnects again when kafkajs goes on after the stop', async () => {
    open();
    await pass(0);
    await reader.stop();
    expect(client.disconnects).toBe(1);
    client.emit('GROUP_JOIN', { memberAssignment: { [TOPIC]: [0] } });
    client.emit('FETCH_START');
    expect(client.disconnects).toBe(2);
    await client.deliver(0, 0, 3);
    await pass(100);
    expect(consumer.batches).toEqual([]);
  });

  it('stops within seconds though kafkajs doesn’t come back from connecting', async () => {
    client.connect = () => new Promise(() => undefined);
    open();
    await pass(0);
    let stopped = false;
    void reader.stop().then(() => (stopped = true));
    await pass(4_000);
    expect(stopped).toBe(true);
  });
});
