import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { Broker } from './broker.mjs';
import { brokerSettings } from './broker-settings.mjs';
import { ensureClassData } from './class-data.mjs';
import { DataFolder } from './data-folder.mjs';
import { startGuard } from './guard.mjs';
import { ensureJars, findMaven, jarsAreThere, MAVEN_REMEDY } from './jars.mjs';
import { ensureJava, findJava, findPip, JAVA_REMEDY } from './java.mjs';
import { aboutWriting, KafkaLocalError } from './kafka-local-error.mjs';
import { freePorts, isFree } from './ports.mjs';
import { coordinatorError } from './wire-probe.mjs';

export { isLackOfMachine, KafkaLocalError } from './kafka-local-error.mjs';

const PORT_ATTEMPTS = 5;

/**
 * Whether this machine has, or can fetch, what a broker needs. Looks at programs and files only: a network that is down shows when
 * a cluster is started, as KafkaLocalError 'not-fetched'.
 * @returns {{ available: true } | { available: false, why: string }}
 */
export function kafkaAvailable() {
  const java = findJava();
  if ('missing' in java && findPip() === undefined) {
    return { available: false, why: `${java.missing}: ${JAVA_REMEDY}` };
  }
  if (!jarsAreThere() && !findMaven()) {
    return { available: false, why: `the jars of Kafka have not been fetched yet: ${MAVEN_REMEDY}` };
  }
  return { available: true };
}

/**
 * Starts real Kafka brokers (KRaft) on loopback ports and waits until they serve, groups and transactions included. They end with
 * this process, whatever ends it.
 *
 * @param {{
 *   brokers?: 1 | 3,
 *   folder?: string,
 *   port?: number,
 *   settings?: Record<string, string | number | boolean>,
 *   heapMegabytes?: number,
 *   tunedFor?: 'quick-start' | 'throughput',
 *   log?: (line: string) => void,
 *   onUnexpectedEnd?: (node: { id: number, error: KafkaLocalError }) => void,
 * }} options `folder` keeps the data, and a later start on it serves the same topics at the same ports; without it the data goes
 *   with the cluster. `port` is the first broker's, the others' follow it. `settings` go into every server.properties.
 * @returns {Promise<Cluster>}
 * @throws KafkaLocalError
 */
export async function startCluster(options = {}) {
  const { log = () => undefined } = options;
  checkArguments(options);
  const { java, jars } = await fetchWhatIsMissing(log);
  const classData = await ensureClassData(java, jars, log);
  const cluster = new Cluster(options, {
    runtime: { java: java.program, classPath: jars.classPath },
    more: classData === undefined ? [] : [`-XX:SharedArchiveFile=${classData}`],
  });
  try {
    await cluster.open(log);
    return cluster;
  } catch (error) {
    await cluster.close('at once');
    throw error;
  }
}

/**
 * Java and the broker's jars, fetched where they aren't here yet: what startCluster does first.
 * @throws KafkaLocalError
 */
export async function fetchWhatIsMissing(log) {
  const java = await ensureJava(log);
  return { java, jars: await ensureJars(java, log) };
}

function checkArguments({ brokers = 1, folder = '', port }) {
  if (![1, 3].includes(brokers)) {
    throw new KafkaLocalError(
      'bad-argument',
      `${brokers} brokers can't be started: 1, or 3 for a cluster that survives one`,
    );
  }
  if (port !== undefined && !(Number.isInteger(port) && port >= 1 && port + 2 * brokers <= 65_536)) {
    throw new KafkaLocalError(
      'bad-argument',
      `port ${port} is no whole number from 1 to ${65_536 - 2 * brokers}`,
    );
  }
  if (folder.includes(',')) {
    throw new KafkaLocalError(
      'bad-argument',
      `the folder ${folder} holds a comma, at which Kafka would cut it: name another one`,
    );
  }
}

class Cluster {
  #data;
  #guard;
  #brokers = [];
  #starting = new Set();
  #isOpen = false;
  #closed = false;

  constructor(options, machine) {
    this.options = options;
    this.machine = machine;
    this.temporary = options.folder === undefined;
  }

  /** `127.0.0.1:port` of each node, running or not. */
  get brokers() {
    return this.#brokers.map((broker) => `127.0.0.1:${broker.port}`);
  }

  /** The process of each node; undefined while it is down. */
  get nodes() {
    return this.#brokers.map((broker) => ({ id: broker.id, pid: broker.isRunning ? broker.pid : undefined }));
  }

  /** Where the data and each node's broker.log lie. */
  get folder() {
    return this.#data.path;
  }

  /** As a power failure of the process alone: SIGKILL. Resolves when it is gone. */
  async kill(id) {
    await this.#running(id).end('SIGKILL');
  }

  /** A clean stop: its partitions move first. Resolves when the process is gone. */
  async stop(id) {
    await this.#running(id).end('SIGTERM');
  }

  /** Starts a node that is down on its data and port; resolves when it answers and sees every running node. */
  async start(id) {
    const broker = this.#node(id);
    if (broker.isRunning) throw new KafkaLocalError('node-running', `node ${id} runs already`);
    await this.#launch([broker]);
  }

  /** Ends all nodes, and removes the data unless a folder was named. A second call does nothing more. */
  async close(how = 'in order') {
    if (this.#closed) return;
    this.#closed = true;
    // Nobody reads a temporary folder again, so nothing is flushed there.
    const signal = this.temporary || how === 'at once' ? 'SIGKILL' : 'SIGTERM';
    await Promise.all(this.#brokers.map((broker) => broker.end(signal)));
    if (this.temporary) this.#data?.discard();
    this.#data?.release();
    this.#guard?.done();
  }

  /** Once, by startCluster. */
  async open(log) {
    const { brokers: size = 1, folder, port } = this.options;
    this.#data = DataFolder.open(path.resolve(folder ?? temporaryFolder()), size);
    this.#guard = startGuard(this.temporary ? this.#data.path : undefined);
    for (let attempt = 1; ; attempt += 1) {
      await this.#configure(port, log);
      try {
        await Promise.all(this.#brokers.map((broker) => broker.format(this.#data.state.clusterId)));
        await this.#launch(this.#brokers);
        break;
      } catch (error) {
        await Promise.all(this.#brokers.map((broker) => broker.end('SIGKILL')));
        // Another program may take a port between our look and the broker's.
        if (error.code !== 'port-in-use' || port !== undefined || attempt === PORT_ATTEMPTS) throw error;
      }
    }
    for (const kind of ['group', 'transaction']) await this.#coordinatorServes(kind);
    this.#isOpen = true;
  }

  async #configure(port, log) {
    const { state } = this.#data;
    this.#brokers = state.nodes.map(({ id }) => this.#broker(id));
    for (const broker of this.#brokers) {
      const pid = await broker.endOrphan();
      if (pid !== undefined) log(`ended process ${pid}, which an earlier start had left on ${broker.folder}`);
    }
    await this.#choosePorts(port, log);
    this.#data.save();
    for (const broker of this.#brokers) {
      broker.port = state.nodes.find(({ id }) => id === broker.id).port;
      const { folder, id } = broker;
      try {
        broker.configure(brokerSettings({ id, nodes: state.nodes, folder, extra: this.options.settings }));
      } catch (error) {
        throw aboutWriting(error, this.#data.path);
      }
    }
  }

  #broker(id) {
    const { heapMegabytes = 512, tunedFor = 'quick-start' } = this.options;
    return new Broker({
      id,
      folder: this.#data.nodeFolder(id),
      runtime: this.machine.runtime,
      jvm: { heapMegabytes, tunedFor, more: this.machine.more },
      guard: this.#guard,
      onUnexpectedEnd: (error) => {
        if (this.#isOpen && !this.#closed && !this.#starting.has(id))
          this.options.onUnexpectedEnd?.({ id, error });
      },
    });
  }

  /** Those asked for, else those of the last start, else free ones. */
  async #choosePorts(first, log) {
    const { nodes } = this.#data.state;
    const kept = nodes.every((node) => node.port !== undefined && node.controllerPort !== undefined);
    if (first !== undefined) {
      nodes.forEach((node, i) =>
        Object.assign(node, { port: first + i, controllerPort: first + nodes.length + i }),
      );
      for (const taken of await takenOf(nodes)) {
        throw new KafkaLocalError(
          'port-in-use',
          `port ${taken} is taken by another program; with --port ${first} the brokers need ${first} to ${first + 2 * nodes.length - 1}`,
        );
      }
      return;
    }
    const taken = kept ? await takenOf(nodes) : [];
    if (kept && taken.length === 0) return;
    if (taken.length > 0)
      log(`port ${taken.join(', ')} is taken by another program by now: the brokers move to new ones`);
    const ports = await freePorts(2 * nodes.length);
    for (const node of nodes) Object.assign(node, { port: ports.pop(), controllerPort: ports.pop() });
  }

  async #launch(brokers) {
    for (const { id } of brokers) this.#starting.add(id);
    try {
      for (const broker of brokers) broker.launch();
      const ids = this.#brokers.filter((broker) => broker.isRunning).map(({ id }) => id);
      await Promise.all(brokers.map((broker) => broker.ready(ids)));
    } finally {
      for (const { id } of brokers) this.#starting.delete(id);
    }
  }

  /** The first question of this kind creates an internal topic; kafkajs doesn't repeat what is refused until that is there. */
  async #coordinatorServes(kind) {
    const [broker] = this.#brokers;
    await broker.until(
      `the ${kind} coordinator`,
      async () => (await coordinatorError(broker.port, kind)) === 0,
    );
  }

  #node(id) {
    if (this.#closed) throw new KafkaLocalError('closed', 'the cluster was closed');
    const broker = this.#brokers.find((known) => known.id === id);
    if (broker !== undefined) return broker;
    const ids = this.#brokers.map((known) => known.id).join(', ');
    throw new KafkaLocalError('unknown-node', `there is no node ${id}: this cluster has ${ids}`);
  }

  #running(id) {
    const broker = this.#node(id);
    if (!broker.isRunning) throw new KafkaLocalError('node-not-running', `node ${id} is down already`);
    return broker;
  }
}

const temporaryFolder = () => mkdtempSync(path.join(tmpdir(), 'undertone-kafka-'));

async function takenOf(nodes) {
  const ports = nodes.flatMap((node) => [node.port, node.controllerPort]);
  const free = await Promise.all(ports.map(isFree));
  return ports.filter((_, i) => !free[i]);
}
