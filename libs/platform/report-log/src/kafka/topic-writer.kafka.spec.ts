import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Admin, Kafka, logLevel } from 'kafkajs';

import {
  describeWithKafka,
  type KafkaCluster,
  startKafkaCluster,
  testBrokers,
} from '../../testing/kafka-cluster';
import { createRawTopic, readRawTopic } from '../../testing/raw-topic';
import { eventually } from '../../testing/report-log-contract';
import { type LogRecord, type ReportLogError } from '../report-log';
import { connectKafka } from './kafka-connection';
import { TopicWriter } from './topic-writer';

const record = (value: string): LogRecord => ({ key: Buffer.from(value), value: Buffer.from(value) });

describeWithKafka('a send whose bytes reached the log although its answer never came', () => {
  let door: Door;
  let kafka: Kafka;
  let admin: Admin;
  let topic: string;

  beforeEach(async () => {
    door = await Door.open(testBrokers()[0]);
    // Gives up after two tries, so that the sequence numbers go back while nobody knows what became of them.
    kafka = new Kafka({
      brokers: testBrokers(),
      logLevel: logLevel.NOTHING,
      retry: { retries: 1, initialRetryTime: 10, maxRetryTime: 10 },
      socketFactory: ({ onConnect }) => connect(door.port, '127.0.0.1', onConnect),
    });
    admin = kafka.admin();
    await admin.connect();
    topic = await createRawTopic(admin, { partitions: 1 });
  });
  afterEach(async () => {
    await admin.deleteTopics({ topics: [topic] });
    await admin.disconnect();
    await door.close();
  });

  const written = async (): Promise<string[]> =>
    (await readRawTopic(kafka, topic)).map(({ value }) => value.toString());

  it('makes kafkajs acknowledge the next one unwritten', async () => {
    const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
    await producer.connect();
    const send = (value: string) => producer.send({ topic, acks: -1, messages: [{ value, partition: 0 }] });
    await send('before');
    door.swallowsAnswers = true;
    await expect(send('unanswered')).rejects.toThrow();
    door.swallowsAnswers = false;
    await send('after');
    await producer.disconnect();
    expect(await written()).toEqual(['before', 'unanswered']);
  });

  it('takes nothing from the next one of a writer', async () => {
    const writer = await TopicWriter.open({ kafka, topic, schema: 's', maximumWaitMs: 300 });
    await writer.append([record('before')]);
    door.swallowsAnswers = true;
    await expect(writer.append([record('unanswered')])).rejects.toMatchObject({
      code: 'report-log-unavailable',
    });
    door.swallowsAnswers = false;
    await writer.append([record('after')]);
    await writer.close();
    const values = await written();
    expect(new Set(values)).toEqual(new Set(['before', 'unanswered', 'after']));
    expect(values[values.length - 1]).toBe('after');
  });

  it('goes out again while its append waits, so that the log has it twice at worst', async () => {
    const writer = await TopicWriter.open({ kafka, topic, schema: 's' });
    await writer.append([record('before')]);
    door.swallowsAnswers = true;
    const done = [writer.append([record('a')]), writer.append([record('b'), record('c')])];
    await eventually('two sends without an answer', () => door.swallowed >= 4);
    done.push(writer.append([record('d')]));
    door.swallowsAnswers = false;
    await Promise.all(done);
    await writer.close();
    const values = await written();
    expect(values.length).toBeGreaterThan(5);
    expect([...new Set(values)]).toEqual(['before', 'a', 'b', 'c', 'd']);
  });
});

describeWithKafka('three brokers', () => {
  let cluster: KafkaCluster;

  beforeAll(async () => {
    cluster = await startKafkaCluster({ brokers: 3 });
  }, 120_000);
  afterAll(() => cluster?.close(), 60_000);

  it('keep every acknowledged record, in order, over kill -9 of a leader', async () => {
    const kafka = connectKafka({ brokers: cluster.brokers, clientId: 'topic-writer-spec' });
    const admin = kafka.admin();
    await admin.connect();
    const topic = await createRawTopic(admin, { partitions: 3, replicas: 3 });
    const writer = await TopicWriter.open({ kafka, topic, schema: 's', maximumWaitMs: 20_000 });
    const load = new Load(writer, { callers: 8, batch: 10 });
    await load.acknowledges(2_000);

    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    const { leader } = topics[0].partitions[0];
    await cluster.kill(leader);
    await load.acknowledges(2_000);
    await cluster.start(leader);
    await load.acknowledges(2_000);
    await load.end();
    await writer.close();
    await admin.disconnect();

    const log = await readRawTopic(kafka, topic);
    expect(load.missingFrom(log.map(({ value }) => value.toString()))).toEqual([]);
    for (const partition of [0, 1, 2]) {
      const values = log.filter((message) => message.partition === partition).map(({ value }) => `${value}`);
      expect(load.outOfOrderIn(values)).toEqual([]);
    }
  }, 120_000);
});

describeWithKafka('a broker that is away', () => {
  it('makes appends fail in time and no more of them wait than may, and comes back to a writer that goes on', async () => {
    const cluster = await startKafkaCluster({ brokers: 1 });
    try {
      const kafka = connectKafka({ brokers: cluster.brokers, clientId: 'topic-writer-spec' });
      const admin = kafka.admin();
      await admin.connect();
      const topic = await createRawTopic(admin, { partitions: 3 });
      await admin.disconnect();
      const maximumWaitMs = 1_500;
      const limits = { maximumWaitMs, maximumWaiting: 200 };
      const writer = await TopicWriter.open({ kafka, topic, schema: 's', ...limits });
      const load = new Load(writer, { callers: 30, batch: 10 });
      await load.acknowledges(1_000);
      await cluster.kill(1);
      const refused = load.refused.length;
      await eventually(
        'refusals of both kinds, again and again',
        () => {
          const since = load.refused.slice(refused);
          return ['report-log-unavailable', 'report-log-full'].every(
            (code) => since.filter((refusal) => refusal.code === code).length > 25,
          );
        },
        30_000,
      );
      await cluster.start(1);
      await load.acknowledges(1_000);
      await load.end();
      await writer.close();
      expect(load.longestMs).toBeLessThan(maximumWaitMs + 1_000);
      const log = await readRawTopic(kafka, topic);
      expect(load.missingFrom(log.map(({ value }) => value.toString()))).toEqual([]);
    } finally {
      await cluster.close();
    }
  }, 120_000);
});

/** Callers that append one batch after another, each value once, and remember what was acknowledged. */
class Load {
  readonly refused: ReportLogError[] = [];
  longestMs = 0;
  private readonly acknowledged: string[] = [];
  private ending = false;
  private readonly running: Promise<void[]>;

  constructor(
    private readonly writer: TopicWriter,
    { callers, batch }: { readonly callers: number; readonly batch: number },
  ) {
    this.running = Promise.all(Array.from({ length: callers }, (_, caller) => this.run(caller, batch)));
  }

  /** Waits until so many more records have been. */
  async acknowledges(more: number): Promise<void> {
    const wanted = this.acknowledged.length + more;
    await eventually(`${more} acknowledged`, () => this.acknowledged.length >= wanted, 60_000);
  }

  async end(): Promise<void> {
    this.ending = true;
    await this.running;
  }

  missingFrom(values: readonly string[]): string[] {
    const there = new Set(values);
    return this.acknowledged.filter((value) => !there.has(value));
  }

  /** Acknowledged values of a partition that first stand after a later one of the same caller. */
  outOfOrderIn(values: readonly string[]): string[] {
    const acknowledged = new Set(this.acknowledged);
    const latest = new Map<string, number>();
    return [...new Set(values)].filter((value) => {
      if (!acknowledged.has(value)) return false;
      const [caller, number] = value.split('/');
      const before = latest.get(caller) ?? -1;
      latest.set(caller, Math.max(before, Number(number)));
      return Number(number) < before;
    });
  }

  private async run(caller: number, batch: number): Promise<void> {
    for (let next = 0; !this.ending; next += batch) {
      const values = Array.from({ length: batch }, (_, i) => `${caller}/${next + i}`);
      const began = performance.now();
      try {
        await this.writer.append(values.map(record));
        this.acknowledged.push(...values);
      } catch (error) {
        this.refused.push(error as ReportLogError);
      }
      this.longestMs = Math.max(this.longestMs, performance.now() - began);
      await sleep(5);
    }
  }
}

const PRODUCE = 0;

/** The way to a broker, which may let a batch through and cut the connection instead of passing the answer on. */
class Door {
  swallowsAnswers = false;
  swallowed = 0;
  private readonly sockets = new Set<Socket>();

  static async open(broker: string): Promise<Door> {
    const [host, port] = broker.split(':');
    const server = createServer();
    const door = new Door(server);
    server.on('connection', (client) => door.pass(client, connect(Number(port), host)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return door;
  }

  private constructor(private readonly server: Server) {}

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private pass(client: Socket, broker: Socket): void {
    let swallowing = false;
    let pending = Buffer.alloc(0);
    for (const [socket, other] of [
      [client, broker],
      [broker, client],
    ]) {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => other.destroy());
    }
    client.on('data', (bytes) => {
      pending = Buffer.concat([pending, bytes]);
      while (pending.length >= 6 && pending.length >= 4 + pending.readInt32BE(0)) {
        const request = pending.subarray(0, 4 + pending.readInt32BE(0));
        pending = pending.subarray(request.length);
        swallowing ||= this.swallowsAnswers && request.readInt16BE(4) === PRODUCE;
        broker.write(request);
      }
    });
    broker.on('data', (bytes) => {
      if (!swallowing) {
        client.write(bytes);
        return;
      }
      this.swallowed++;
      client.destroy();
    });
  }
}
