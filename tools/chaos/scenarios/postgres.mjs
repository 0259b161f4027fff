import { audit, hasHeld } from '../audit.mjs';
import { openRig, postgresLag, until } from '../rig.mjs';
import { playFaults } from './fault-run.mjs';

/** The fault run on PostgreSQL's log, without Kafka: connections are cut, gateways are killed and restarted. */
export async function run({ options, stops, log }) {
  const rig = await openRig(stops, { brokers: 0, gateways: 2, log });
  const { gateways, stage, task } = rig;
  const { pool } = stage.store;
  const [first, second] = gateways;
  const cut = () =>
    pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'collection-gateway'`,
    );
  const { fleet, seconds, faults } = await playFaults({
    rig,
    options,
    log,
    faults: [
      { at: 0.15, what: 'every connection of the gateways cut', strike: cut },
      { at: 0.35, what: `${second.name} killed`, strike: () => second.kill() },
      { at: 0.5, what: 'every connection of the gateways cut', strike: cut },
      { at: 0.65, what: `${first.name} restarted`, strike: () => first.restart() },
      { at: 0.85, what: 'both gateways killed', strike: () => Promise.all([first.kill(), second.kill()]) },
    ],
    settled: () => until('no entry waits', async () => (await postgresLag(pool)) === 0),
  });
  const table = await audit(pool, task, fleet);
  return {
    ...table,
    log: { repeats: table.counted.repeated },
    answers: fleet.answers,
    faults,
    seconds,
    gateways: gateways.map(({ name, ends }) => ({ name, ends })),
    held: hasHeld(table),
  };
}
