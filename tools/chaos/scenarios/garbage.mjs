import { audit, hasHeld } from '../audit.mjs';
import { Fleet } from '../fleet.mjs';
import { garbageKinds } from '../garbage.mjs';
import { openRig, until } from '../rig.mjs';

const OF_EACH_KIND = 10;
const FIELDS = ['at', 'detail', 'log', 'offset', 'partition', 'reason', 'task'];

/** Garbage straight to the topic among good reports: each in the rejected topic with its reason, and nothing waits for it. */
export async function run({ options, stops, log }) {
  const rig = await openRig(stops, { brokers: options.brokers, gateways: 1, log });
  const { cluster, gateways, stage, task } = rig;
  const { pool } = stage.store;
  const fleet = new Fleet({
    urls: [gateways[0].url],
    task,
    artifact: stage.artifact,
    reports: options.reports,
    batch: options.batch,
    devices: options.devices,
    longestPauseMs: 1_000,
  });
  const [produced] = await Promise.all([
    produceGarbage(cluster, { task, artifact: stage.artifact }),
    fleet.send(),
  ]);
  log(`${produced.length} pieces of garbage produced, ${fleet.acked} reports acknowledged`);
  await until('no message waits', async () => (await cluster.lag(pool)) === 0);
  await until('every rejection is published', async () => {
    const ends = await cluster.ends(cluster.rejected);
    return [...ends.values()].reduce((sum, end) => sum + Number(end), 0) >= produced.length;
  });
  const published = (await cluster.read(cluster.rejected)).map(({ key, value }) => ({
    where: key.toString(),
    entry: JSON.parse(value.toString()),
  }));
  const { counted, ...table } = await audit(pool, task, fleet);
  const kinds = summary(produced, published);
  const strangers = published.filter(({ where }) => !produced.some((piece) => piece.where === where)).length;
  const isBare = published.every(({ entry }) => Object.keys(entry).sort().join() === FIELDS.join());
  // What names a known task counts there as well.
  const ofTask = produced.filter(({ reason }) =>
    ['wrong-artifact', 'impossible-payload'].includes(reason),
  ).length;
  return {
    ...table,
    rejected: published.length,
    counted,
    lag: 0,
    kinds,
    strangers,
    onlyKnownFields: isBare,
    gateways: gateways.map(({ name, ends }) => ({ name, ends })),
    held:
      hasHeld({ ...table, rejected: table.rejected - ofTask, counted }) &&
      kinds.every(
        ({ produced: count, asExpected, published: times }) => asExpected === count && times === count,
      ) &&
      strangers === 0 &&
      isBare &&
      gateways[0].ends.length === 0,
  };
}

async function produceGarbage(cluster, collection) {
  const kinds = garbageKinds(collection);
  const producer = cluster.producer();
  await producer.connect();
  const partitions = (await cluster.ends(cluster.reports)).size;
  const produced = [];
  for (let i = 0; i < OF_EACH_KIND; i++) {
    for (const [j, { kind, reason, message }] of kinds.entries()) {
      const partition = (i + j) % partitions;
      const [{ baseOffset }] = await producer.send({
        topic: cluster.reports,
        acks: -1,
        messages: [{ ...message(), partition }],
      });
      produced.push({ kind, reason, where: `${cluster.reports}/${partition}/${baseOffset}` });
    }
  }
  await producer.disconnect();
  return produced;
}

function summary(produced, published) {
  const byPlace = new Map();
  for (const { where, entry } of published) byPlace.set(where, [...(byPlace.get(where) ?? []), entry.reason]);
  const kinds = [...new Set(produced.map(({ kind }) => kind))];
  return kinds.map((kind) => {
    const pieces = produced.filter((piece) => piece.kind === kind);
    const reasons = pieces.flatMap(({ where }) => byPlace.get(where) ?? []);
    return {
      kind,
      reason: pieces[0].reason,
      produced: pieces.length,
      asExpected: pieces.filter(({ where, reason }) => byPlace.get(where)?.every((given) => given === reason))
        .length,
      published: reasons.length,
      reasons: [...new Set(reasons)],
    };
  });
}
