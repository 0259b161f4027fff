import { audit, auditLog, hasHeld } from '../audit.mjs';
import { openRig, until } from '../rig.mjs';
import { playFaults } from './fault-run.mjs';

/** A broker and an ingesting gateway are killed, another gateway is restarted, the broker comes back: all while devices send. */
export async function run({ options, stops, log }) {
  const rig = await openRig(stops, { brokers: options.brokers, gateways: 2, log });
  const { cluster, gateways, stage, task } = rig;
  const { pool } = stage.store;
  const broker = await cluster.leaderOf(cluster.reports, 0);
  const [first, second] = gateways;
  const { fleet, seconds, faults } = await playFaults({
    rig,
    options,
    log,
    faults: [
      { at: 0.15, what: `broker ${broker} killed`, strike: () => cluster.kill(broker) },
      { at: 0.35, what: `${second.name} killed`, strike: () => second.kill() },
      { at: 0.5, what: `broker ${broker} started`, strike: () => cluster.start(broker) },
      { at: 0.7, what: `${first.name} restarted`, strike: () => first.restart() },
    ],
    settled: () => until('no message waits', async () => (await cluster.lag(pool)) === 0),
  });
  await until('all replicas are in sync', () => cluster.isInSync(cluster.reports));
  const table = await audit(pool, task, fleet);
  const inLog = auditLog(await cluster.read(cluster.reports), fleet);
  return {
    ...table,
    log: inLog,
    answers: fleet.answers,
    faults,
    seconds,
    gateways: gateways.map(({ name, ends }) => ({ name, ends })),
    held: hasHeld(table, inLog),
  };
}
