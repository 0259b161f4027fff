import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';

import { Kafka, logLevel } from 'kafkajs';

import {
  describeWithKafka,
  type KafkaCluster,
  startKafkaCluster,
  testBrokers,
  uniqueTopic,
} from './kafka-cluster';

const LAUNCHER = path.resolve(__dirname, '../../../../tools/kafka-local/main.mjs');

const client = (brokers: readonly string[]): Kafka =>
  new Kafka({
    clientId: 'kafka-local-spec',
    brokers: [...brokers],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 1000,
    requestTimeout: 5000,
    retry: { retries: 30, initialRetryTime: 100, maxRetryTime: 1000 },
  });

async function produce(brokers: readonly string[], topic: string, values: readonly string[]): Promise<void> {
  const producer = client(brokers).producer({ idempotent: false, maxInFlightRequests: 1 });
  await producer.connect();
  await producer.send({
    topic,
    acks: -1,
    messages: values.map((value) => ({ value, partition: 0 })),
  });
  await producer.disconnect();
}

async function endOffset(brokers: readonly string[], topic: string): Promise<number> {
  const admin = client(brokers).admin();
  await admin.connect();
  const [{ high }] = await admin.fetchTopicOffsets(topic);
  await admin.disconnect();
  return Number(high);
}

/** Without kafkajs's own wait for leaders, which gives up when a broker hasn't heard of the topic yet. */
async function createTopic(brokers: readonly string[], topic: string): Promise<void> {
  const admin = client(brokers).admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: false });
  await eventually(() =>
    admin.fetchTopicMetadata({ topics: [topic] }).then(
      ({ topics }) => topics[0].partitions[0].leader > 0,
      () => false,
    ),
  );
  await admin.disconnect();
}

describeWithKafka('the broker of the kafka suites', () => {
  it('takes what is sent', async () => {
    const topic = uniqueTopic('shared');
    await createTopic(testBrokers(), topic);
    await produce(testBrokers(), topic, ['one', 'two', 'three']);
    expect(await endOffset(testBrokers(), topic)).toBe(3);
  });
});

describeWithKafka('a cluster of one node', () => {
  let cluster: KafkaCluster;
  beforeAll(async () => {
    cluster = await startKafkaCluster({ brokers: 1 });
  });
  afterAll(() => cluster.close());

  it('keeps its data over kill -9 and start', async () => {
    const topic = uniqueTopic('killed');
    await createTopic(cluster.brokers, topic);
    await produce(cluster.brokers, topic, ['one', 'two']);
    await cluster.kill(1);
    await cluster.start(1);
    await produce(cluster.brokers, topic, ['three']);
    expect(await endOffset(cluster.brokers, topic)).toBe(3);
  });

  it('says what it can’t do, and goes on', async () => {
    await expect(cluster.kill(7)).rejects.toThrow('kill 7: there is no node 7: this cluster has 1');
    await expect(cluster.start(1)).rejects.toThrow('start 1: node 1 runs already');
    await cluster.stop(1);
    await expect(cluster.kill(1)).rejects.toThrow('kill 1: node 1 is down already');
    // Asked for at once, done in order.
    await Promise.all([cluster.start(1), cluster.stop(1)]);
  });
});

describeWithKafka('a folder', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'kafka folder with ünusual name '));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('keeps topics and ports for the next start, and belongs to one launcher at a time', async () => {
    const topic = uniqueTopic('kept');
    const first = await startKafkaCluster({ brokers: 1, folder });
    try {
      await createTopic(first.brokers, topic);
      await produce(first.brokers, topic, ['one', 'two']);
      await expect(startKafkaCluster({ brokers: 1, folder })).rejects.toMatchObject({
        code: 'folder-in-use',
        message: expect.stringContaining('which is running'),
      });
    } finally {
      await first.close();
    }
    await expect(startKafkaCluster({ brokers: 3, folder })).rejects.toMatchObject({
      code: 'folder-of-other-size',
    });
    const second = await startKafkaCluster({ brokers: 1, folder });
    try {
      expect(second.brokers).toEqual(first.brokers);
      expect(await endOffset(second.brokers, topic)).toBe(2);
    } finally {
      await second.close();
    }
  });

  it('loses its brokers with a launcher that is killed', async () => {
    const launcher = await RawLauncher.start(folder);
    launcher.process.kill('SIGKILL');
    await eventually(() => !isRunning(launcher.broker));
  });

  (process.platform === 'linux' ? it : it.skip)(
    'loses brokers that nobody could end when its launcher was killed, at the next start',
    async () => {
      const launcher = await RawLauncher.start(folder);
      for (const child of childrenOf(launcher.process.pid!)) {
        if (child !== launcher.broker) process.kill(child, 'SIGKILL'); // the guard
      }
      launcher.process.kill('SIGKILL');
      await launcher.gone;
      expect(isRunning(launcher.broker)).toBe(true);
      const cluster = await startKafkaCluster({ brokers: 1, folder });
      try {
        // Its number is taken until its new parent asks how it ended.
        await eventually(() => !isRunning(launcher.broker));
      } finally {
        await cluster.close();
      }
    },
  );
});

describeWithKafka('a cluster of three nodes', () => {
  it('goes on without one of them', async () => {
    const cluster = await startKafkaCluster({ brokers: 3 });
    try {
      const topic = uniqueTopic('replicated');
      await createTopic(cluster.brokers, topic);
      await produce(cluster.brokers, topic, ['one']);
      await cluster.kill(1);
      await produce(cluster.brokers, topic, ['two']);
      await cluster.start(1);
      await produce(cluster.brokers, topic, ['three']);
      expect(await endOffset(cluster.brokers, topic)).toBe(3);
      const admin = client(cluster.brokers).admin();
      await admin.connect();
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      await admin.disconnect();
      expect([...topics[0].partitions[0].replicas].sort()).toEqual([1, 2, 3]);
    } finally {
      await cluster.close();
    }
  });
});

/** The launcher as a program, with the numbers of its processes. */
class RawLauncher {
  readonly gone: Promise<unknown>;

  private constructor(
    readonly process: ChildProcess,
    readonly broker: number,
  ) {
    this.gone = new Promise((resolve) => process.once('exit', resolve));
  }

  static async start(folder: string): Promise<RawLauncher> {
    const child = spawn(process.execPath, [LAUNCHER, '--json', '--heap', '384', '--folder', folder], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    for await (const line of createInterface({ input: child.stdout! })) {
      const fact = JSON.parse(line) as { ready?: true; nodes: { id: number; pid: number }[] };
      expect(fact.ready).toBe(true);
      return new RawLauncher(child, fact.nodes[0].pid);
    }
    throw new Error('the launcher ended');
  }
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text.split(' ').map(Number);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function eventually(test: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await test())) await wait(50);
}
