import fc from 'fast-check';
import { type Message, type ProducerRecord, type RecordMetadata } from 'kafkajs';

import { type LogRecord } from '../report-log';
import { partitionOfKey } from './partition-of-key';
import { type BatchProducer } from './producer-succession';
import { type TopicAccess, TopicWriter } from './topic-writer';

const TOPIC = 'topic';
const PARTITIONS = 3;

interface Send {
  readonly producer: number;
  readonly partition: number;
  readonly record: ProducerRecord;
  readonly values: string[];
  acknowledge(answer?: RecordMetadata[]): void;
  fail(error?: Error): void;
}

const acknowledged = (partition: number): RecordMetadata => ({
  topicName: TOPIC,
  partition,
  errorCode: 0,
  baseOffset: '7',
});

/** Sends end when the spec says so. */
class ScriptedProducers {
  readonly sends: Send[] = [];
  readonly disconnected: number[] = [];
  connect: (producer: number) => Promise<void> = async () => undefined;
  private created = 0;

  readonly create = (): BatchProducer => {
    const producer = this.created++;
    return {
      connect: () => this.connect(producer),
      send: (record) =>
        new Promise((resolve, reject) => {
          const partition = record.messages[0].partition as number;
          this.sends.push({
            producer,
            partition,
            record,
            values: record.messages.map(({ value }) => String(value)),
            acknowledge: (answer = [acknowledged(partition)]) => resolve(answer),
            fail: (error = new Error('broken')) => reject(error),
          });
        }),
      disconnect: async () => {
        this.disconnected.push(producer);
      },
    };
  };

  async sent(count: number): Promise<Send> {
    for (let i = 0; this.sends.length < count; i++) {
      if (i > 1000) throw new Error(`${this.sends.length} of ${count} sends`);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return this.sends[count - 1];
  }
}

/** Keys that fall in each of the partitions. */
const KEYS = Array.from({ length: PARTITIONS }, (_, partition) => {
  for (let i = 0; ; i++) if (partitionOfKey(Buffer.from(`${i}`), PARTITIONS) === partition) return `${i}`;
});

const record = (value: string, partition = 0): LogRecord => ({
  key: Buffer.from(KEYS[partition]),
  value: Buffer.from(value),
});

const records = (count: number, partition = 0): LogRecord[] =>
  Array.from({ length: count }, (_, i) => record(`${i}`, partition));

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** What follows at once has; no time passes. */
const settled = async (): Promise<void> => {
  for (let i = 0; i < 100; i++) await undefined;
};

const protocolError = (type: string): Error => Object.assign(new Error(type), { type });

let producers: ScriptedProducers;
let writers: TopicWriter[];

const open = (access: Partial<TopicAccess> = {}): TopicWriter => {
  const writer = new TopicWriter({
    topic: TOPIC,
    schema: 'a schema',
    partitions: PARTITIONS,
    countPartitions: async () => PARTITIONS,
    createProducer: producers.create,
    ...access,
  });
  writers.push(writer);
  return writer;
};

beforeEach(() => {
  producers = new ScriptedProducers();
  writers = [];
});
afterEach(async () => {
  for (const send of producers.sends) send.acknowledge();
  await Promise.all(writers.map((writer) => writer.close()));
});

describe('what is sent', () => {
  it('names key, value, schema and partition, as bytes, to be acknowledged by all replicas', async () => {
    const writer = open();
    const view = new Uint8Array([9, 0, 255, 44, 9]).subarray(1, 4);
    const done = writer.append([{ key: Buffer.from(KEYS[1]), value: view }]);
    const send = await producers.sent(1);
    expect(send.record).toMatchObject({ topic: TOPIC, acks: -1 });
    const [message] = send.record.messages;
    expect(Buffer.isBuffer(message.value)).toBe(true);
    expect(message).toEqual({
      key: Buffer.from(KEYS[1]),
      value: Buffer.from([0, 255, 44]),
      partition: 1,
      headers: { schema: Buffer.from('a schema') },
    });
    send.acknowledge();
    await done;
  });

  it('is one partition a send', async () => {
    const writer = open();
    const done = writer.append([record('a', 0), record('b', 1), record('c', 0), record('d', 2)]);
    await producers.sent(3);
    expect(producers.sends.map(({ partition, values }) => [partition, values])).toEqual([
      [0, ['a', 'c']],
      [1, ['b']],
      [2, ['d']],
    ]);
    let ended = false;
    void done.then(() => (ended = true));
    producers.sends[0].acknowledge();
    producers.sends[1].acknowledge();
    await turn();
    expect(ended).toBe(false);
    producers.sends[2].acknowledge();
    await done;
  });

  it('gathers while another send of the partition is under way, and only then', async () => {
    const writer = open();
    const done = [writer.append([record('a')]), writer.append([record('b')])];
    await producers.sent(1);
    done.push(writer.append([record('c')]), writer.append([record('d')]), writer.append([record('e', 1)]));
    await producers.sent(2);
    await turn();
    expect(producers.sends.map(({ values }) => values)).toEqual([['a', 'b'], ['e']]);
    producers.sends[0].acknowledge();
    (await producers.sent(3)).acknowledge();
    expect(producers.sends[2].values).toEqual(['c', 'd']);
    producers.sends[1].acknowledge();
    await Promise.all(done);
  });

  it('waits a moment for company behind another where it is small, and not where it is large', async () => {
    const writer = open();
    const done = [writer.append([record('a')])];
    await producers.sent(1);
    done.push(writer.append([record('b')]));
    producers.sends[0].acknowledge();
    await settled();
    done.push(writer.append([record('c')]));
    expect((await producers.sent(2)).values).toEqual(['b', 'c']);
    done.push(writer.append(records(12)));
    producers.sends[1].acknowledge();
    await settled();
    expect(producers.sends[2].values).toHaveLength(12);
    producers.sends[2].acknowledge();
    await Promise.all(done);
  });

  it('is cut at half a mebibyte and at a thousand records, whatever the appends were', async () => {
    const writer = open();
    const large = 'x'.repeat(200 * 1024);
    const done = [
      writer.append([record(large), record(large), record(large), record('y')]),
      writer.append(records(999)),
      writer.append(records(2)),
    ];
    const sizes: number[] = [];
    for (let i = 1; i <= 4; i++) {
      const send = await producers.sent(i);
      sizes.push(send.values.length);
      send.acknowledge();
    }
    await Promise.all(done);
    expect(sizes).toEqual([2, 2, 999, 2]);
  });

  it('goes to partitions that the topic was given later', async () => {
    const writer = open({ countPartitions: async () => 64, countEveryMs: 5 });
    const key = Buffer.from('some key');
    const wanted = partitionOfKey(key, 64);
    expect(wanted).toBeGreaterThanOrEqual(PARTITIONS);
    for (let i = 1; ; i++) {
      const done = writer.append([{ key, value: Buffer.from('v') }]);
      const send = await producers.sent(i);
      send.acknowledge();
      await done;
      if (send.partition === wanted) break;
    }
  });
});

describe('a send that failed', () => {
  it.each([
    [
      'OUT_OF_ORDER_SEQUENCE_NUMBER',
      (send: Send) => send.fail(protocolError('OUT_OF_ORDER_SEQUENCE_NUMBER')),
    ],
    ['a time-out', (send: Send) => send.fail(new Error('Request Produce timed out'))],
    ['an answer without the partition', (send: Send) => send.acknowledge([])],
    ['the answer of another partition', (send: Send) => send.acknowledge([acknowledged(1)])],
    ['an answer of two partitions', (send: Send) => send.acknowledge([acknowledged(0), acknowledged(1)])],
  ])('goes out again, before what came later, with another producer: %s', async (_, fail) => {
    const writer = open();
    const first = writer.append([record('a')]);
    await producers.sent(1);
    const second = writer.append([record('b')]);
    fail(producers.sends[0]);
    (await producers.sent(2)).acknowledge();
    await first;
    (await producers.sent(3)).acknowledge();
    await second;
    expect(producers.sends.map(({ values, producer }) => [values, producer])).toEqual([
      [['a'], 0],
      [['a'], 1],
      [['b'], 1],
    ]);
  });

  it('leaves sends to other partitions alone; they move over with their next, and then the old one goes', async () => {
    const writer = open();
    const done = [writer.append([record('a', 0)]), writer.append([record('b', 1)])];
    await producers.sent(2);
    producers.sends[0].fail();
    (await producers.sent(3)).acknowledge();
    await done[0];
    expect(producers.disconnected).toEqual([]);
    producers.sends[1].acknowledge();
    await done[1];
    await turn();
    expect(producers.disconnected).toEqual([0]);
    done.push(writer.append([record('c', 1)]));
    (await producers.sent(4)).acknowledge();
    await done[2];
    expect(producers.sends.map(({ producer }) => producer)).toEqual([0, 0, 1, 1]);
  });

  it('is dropped with its producer when nobody waits for it any more', async () => {
    const writer = open({ maximumWaitMs: 50, maximumWaiting: 3 });
    const first = writer.append([record('a')]);
    await producers.sent(1);
    await expect(first).rejects.toMatchObject({ code: 'report-log-unavailable' });
    const second = writer.append([record('b')]);
    producers.sends[0].fail();
    (await producers.sent(2)).acknowledge();
    await second;
    expect(producers.sends[1]).toMatchObject({ values: ['b'], producer: 1 });
    const asMuchAsMayWait = [writer.append(records(1, 1)), writer.append(records(2, 2))];
    for (const i of [3, 4]) (await producers.sent(i)).acknowledge();
    await Promise.all(asMuchAsMayWait);
  });

  it('tries again after a producer that can’t connect', async () => {
    const writer = open();
    producers.connect = async (producer) => {
      if (producer < 2) throw new Error('nobody there');
    };
    const done = writer.append([record('a')]);
    (await producers.sent(1)).acknowledge();
    await done;
    expect(producers.sends[0].producer).toBe(2);
    expect(producers.disconnected).toEqual([0, 1]);
  });

  it('counts as failed when it is never answered', async () => {
    const writer = open({ sendLimitMs: 30 });
    const done = writer.append([record('a')]);
    await producers.sent(1);
    (await producers.sent(2)).acknowledge();
    await done;
    expect(producers.sends[1]).toMatchObject({ values: ['a'], producer: 1 });
  });

  it('is sent in smaller ones where the topic takes no larger, down to the record that it refuses', async () => {
    const writer = open();
    const appends = [
      writer.append(records(3)),
      writer.append([record('far too large'.repeat(100))]),
      writer.append([record('z')]),
    ];
    const outcome = Promise.allSettled(appends);
    const written: string[] = [];
    for (let i = 1; written.length < 4; i++) {
      const send = await producers.sent(i);
      if (send.values.length > 1 || send.values[0].length > 100)
        send.fail(protocolError('MESSAGE_TOO_LARGE'));
      else {
        written.push(...send.values);
        send.acknowledge();
      }
    }
    expect(written).toEqual(['0', '1', '2', 'z']);
    const results = await outcome;
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect((results[1] as PromiseRejectedResult).reason).toMatchObject({
      code: 'report-log-unavailable',
      message: expect.stringMatching(/^The report log takes no record of \d+ bytes\./),
      cause: expect.objectContaining({ type: 'MESSAGE_TOO_LARGE' }),
    });
  });
});

describe('an append that waits too long', () => {
  it('is refused in time while its send is under way, and what follows it isn’t sent late', async () => {
    const writer = open({ maximumWaitMs: 60 });
    const began = performance.now();
    const underWay = writer.append([record('a')]);
    await producers.sent(1);
    const queued = writer.append([record('b')]);
    for (const append of [underWay, queued]) {
      await expect(append).rejects.toMatchObject({ code: 'report-log-unavailable', retryAfterSeconds: 2 });
    }
    expect(performance.now() - began).toBeLessThan(1000);
    producers.sends[0].acknowledge();
    const third = writer.append([record('c')]);
    const send = await producers.sent(2);
    expect(send.values).toEqual(['c']);
    send.acknowledge();
    await third;
  });

  it('has what failed as the cause alone: its message reaches whoever sent the record', async () => {
    const writer = open({ maximumWaitMs: 60 });
    const failure = new Error('connect ECONNREFUSED 10.0.0.7:9092');
    producers.connect = async () => {
      throw failure;
    };
    await expect(writer.append([record('a')])).rejects.toMatchObject({
      message: 'The report log did not take the records in 60 ms. Send again later.',
      cause: failure,
    });
  });

  it('frees its place when it is refused, but for what is under way', async () => {
    const writer = open({ maximumWaitMs: 60, maximumWaiting: 10 });
    const underWay = writer.append(records(4));
    await producers.sent(1);
    const queued = writer.append(records(6));
    await expect(writer.append([record('a')])).rejects.toMatchObject({ code: 'report-log-full' });
    await Promise.allSettled([underWay, queued]);
    await expect(writer.append(records(7))).rejects.toMatchObject({ code: 'report-log-full' });
    const next = writer.append(records(6));
    producers.sends[0].acknowledge();
    (await producers.sent(2)).acknowledge();
    await next;
    const last = writer.append(records(10, 1));
    (await producers.sent(3)).acknowledge();
    await last;
  });
});

describe('what waits', () => {
  it('is bounded in records over all partitions, but one larger append alone passes', async () => {
    const writer = open({ maximumWaiting: 10 });
    const done = [writer.append(records(6, 0)), writer.append(records(4, 1))];
    await expect(writer.append([record('a', 2)])).rejects.toMatchObject({
      code: 'report-log-full',
      retryAfterSeconds: 1,
    });
    for (const i of [1, 2]) (await producers.sent(i)).acknowledge();
    await Promise.all(done);
    const larger = writer.append(records(12, 2));
    (await producers.sent(3)).acknowledge();
    await larger;
  });

  it('is bounded in bytes over all partitions', async () => {
    const writer = open({ maximumWaitingBytes: 10_000 });
    const done = writer.append([record('x'.repeat(9_000), 0)]);
    await expect(writer.append([record('x'.repeat(1_000), 1)])).rejects.toMatchObject({
      code: 'report-log-full',
    });
    (await producers.sent(1)).acknowledge();
    await done;
  });
});

describe('close', () => {
  it('answers what was accepted, refuses the rest, then disconnects', async () => {
    const writer = open();
    const accepted = writer.append([record('a')]);
    await producers.sent(1);
    const queued = writer.append([record('b')]);
    const closing = writer.close();
    await expect(writer.append([record('c')])).rejects.toMatchObject({ code: 'report-log-closed' });
    producers.sends[0].acknowledge();
    await accepted;
    expect(producers.disconnected).toEqual([]);
    (await producers.sent(2)).acknowledge();
    await queued;
    await closing;
    expect(producers.disconnected).toEqual([0]);
  });

  it('ends in time where nothing is answered', async () => {
    const writer = open({ maximumWaitMs: 60 });
    const accepted = expect(writer.append([record('a')])).rejects.toMatchObject({
      code: 'report-log-unavailable',
    });
    await producers.sent(1);
    await writer.close();
    await accepted;
    // As kafkajs may connect once more for a send that is still under way.
    producers.sends[0].fail();
    await turn();
    expect(producers.disconnected).toEqual([0, 0]);
  });
});

type Fate =
  | 'answered'
  | 'failed, unwritten'
  | 'failed, written'
  | 'failed, written, when nobody waits any more'
  | 'no partition in the answer';
const WAIT_MS = 4;

/**
 * A broker that tells repeats by producer and sequence number, and a producer that takes a failed send's numbers
 * back, as kafkajs does: whoever goes on with such a producer is acknowledged what was never written.
 */
class NumberingProducers {
  readonly log: string[][] = Array.from({ length: PARTITIONS }, () => []);
  parallel = 0;

  constructor(private readonly fates: Iterator<Fate>) {}

  readonly create = (): BatchProducer => {
    const next = new Array<number>(PARTITIONS).fill(0);
    const seen = new Map<number, { first: number; count: number }>();
    const busy = new Set<number>();
    return {
      connect: async () => undefined,
      disconnect: async () => undefined,
      send: async ({ messages }) => {
        const partition = messages[0].partition as number;
        expect(messages.every((message) => message.partition === partition)).toBe(true);
        if (busy.has(partition)) this.parallel++;
        busy.add(partition);
        const first = next[partition];
        next[partition] += messages.length;
        await turn();
        try {
          const fate = this.fates.next().value as Fate;
          if (fate !== 'failed, unwritten') this.write(partition, first, messages, seen);
          if (fate.endsWith('any more')) await new Promise((resolve) => setTimeout(resolve, 3 * WAIT_MS));
          if (fate.startsWith('failed')) throw new Error(fate);
          return fate === 'answered' ? [acknowledged(partition)] : [];
        } catch (error) {
          next[partition] -= messages.length;
          throw error;
        } finally {
          busy.delete(partition);
        }
      },
    };
  };

  private write(
    partition: number,
    first: number,
    messages: readonly Message[],
    seen: Map<number, { first: number; count: number }>,
  ): void {
    const last = seen.get(partition);
    if (last?.first === first && last.count === messages.length) return;
    if (first !== (last ? last.first + last.count : 0)) throw protocolError('OUT_OF_ORDER_SEQUENCE_NUMBER');
    seen.set(partition, { first, count: messages.length });
    this.log[partition].push(...messages.map(({ value }) => String(value)));
  }
}

it('acknowledges only what is in the log, in order apart from repeats, whatever fails', async () => {
  const fate = fc.oneof(
    { weight: 3, arbitrary: fc.constant<Fate>('answered') },
    { weight: 1, arbitrary: fc.constant<Fate>('failed, unwritten') },
    { weight: 2, arbitrary: fc.constant<Fate>('failed, written') },
    { weight: 1, arbitrary: fc.constant<Fate>('failed, written, when nobody waits any more') },
    { weight: 1, arbitrary: fc.constant<Fate>('no partition in the answer') },
  );
  const appends = fc.array(
    fc.record({ partitions: fc.array(fc.nat(PARTITIONS - 1), { maxLength: 3 }), turns: fc.nat(3) }),
    {
      maxLength: 15,
    },
  );
  await fc.assert(
    fc.asyncProperty(appends, fc.array(fate, { maxLength: 30 }), async (rhythm, fates) => {
      const broker = new NumberingProducers(
        (function* () {
          yield* fates;
          for (;;) yield 'answered';
        })(),
      );
      const writer = open({ createProducer: broker.create, maximumWaitMs: WAIT_MS, pauseMs: [1, 1] });
      const results: Promise<void>[] = [];
      const values: string[][] = [];
      for (const { partitions, turns } of rhythm) {
        const append = partitions.map((partition, i) => record(`${values.length}/${i}`, partition));
        values.push(append.map(({ value }) => String(value)));
        results.push(writer.append(append));
        for (let i = 0; i < turns; i++) await turn();
      }
      const outcomes = await Promise.allSettled(results);
      await writer.close();
      expect(broker.parallel).toBe(0);
      const written = new Set(broker.log.flat());
      const acked = values.filter((_, i) => outcomes[i].status === 'fulfilled').flat();
      expect(acked.filter((value) => !written.has(value))).toEqual([]);
      const order = new Map(values.flat().map((value, i) => [value, i]));
      for (const log of broker.log) {
        const firsts = [...new Set(log)].map((value) => order.get(value) as number);
        expect(firsts).toEqual([...firsts].sort((a, b) => a - b));
      }
    }),
    { numRuns: 60 },
  );
}, 60_000);
