import path from 'node:path';

/**
 * `server.properties` of one node that is broker and controller at once. With three nodes: replication 3, of which 2 must have a
 * record before it counts as written. `extra` wins over what stands here.
 */
export function brokerSettings({ id, nodes, folder, extra = {} }) {
  const { port, controllerPort } = nodes.find((node) => node.id === id);
  const replication = Math.min(3, nodes.length);
  const inSync = Math.max(1, replication - 1);
  const voters = nodes.map((node) => `${node.id}@127.0.0.1:${node.controllerPort}`).join(',');
  return {
    'process.roles': 'broker,controller',
    'node.id': id,
    'controller.quorum.voters': voters,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': path.join(folder, 'data'),
    'auto.create.topics.enable': false,
    'num.partitions': 3,
    'default.replication.factor': replication,
    'min.insync.replicas': inSync,
    'offsets.topic.replication.factor': replication,
    'transaction.state.log.replication.factor': replication,
    'transaction.state.log.min.isr': inSync,
    // 50 each by default, all to be created and loaded at the first start.
    'offsets.topic.num.partitions': 3,
    'transaction.state.log.num.partitions': 3,
    'group.initial.rebalance.delay.ms': 0,
    // How long a killed broker is still taken for alive: its restart and its partitions' next leader wait for that.
    'broker.session.timeout.ms': 3000,
    'broker.heartbeat.interval.ms': 500,
    // 128 MiB by default, taken at the start.
    'log.cleaner.dedupe.buffer.size': 2_097_152,
    'num.io.threads': 4,
    'num.network.threads': 2,
    'background.threads': 2,
    ...extra,
  };
}

/** As Java reads it: Latin-1, with everything else as \uXXXX. */
export const asProperties = (settings) =>
  Object.entries(settings)
    .map(([key, value]) => `${key}=${escape(String(value))}\n`)
    .join('');

const escape = (text) =>
  text
    .replaceAll('\\', '\\\\')
    .replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
