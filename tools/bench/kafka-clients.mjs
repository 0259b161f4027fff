// kafkajs, @confluentinc/kafka-javascript and @platformatic/kafka under one contract: speed, what becomes of acknowledged
// messages when a broker is killed, and whether consumers go on by themselves. Every client runs in a process of its own.
import { kafkaAvailable, startCluster } from '../kafka-local/cluster.mjs';
import { withStops } from './form/stops.mjs';
import { lossRows, rebalanceRows, restartRows } from './kafka-clients/accounts.mjs';
import { CLIENTS, CONSUMING, SENDING } from './kafka-clients/clients.mjs';
import { followThroughRebalances, followThroughRestart } from './kafka-clients/consumers.mjs';
import { runFault } from './kafka-clients/faults.mjs';
import { installClient } from './kafka-clients/install.mjs';
import { measureThroughput } from './kafka-clients/throughput.mjs';
import { connectTopics } from './kafka-clients/topics.mjs';
import { upkeepRow } from './kafka-clients/upkeep.mjs';

const RUNS = { faults: { kill: 6, stop: 3 }, restarts: { kill: 3, stop: 3 }, rebalances: 3 };
const EVERY_MS = 10;
const BROKERS = 3;

const PARTS_WITH_BROKERS = { throughput, faults, consumers };

export const PARTS = ['upkeep', ...Object.keys(PARTS_WITH_BROKERS)];

export async function run({ root, parts, share, alternate, log }) {
  const installed = [];
  for (const client of CLIENTS) {
    const answer = await installClient(client, { root, log });
    if ('unavailable' in answer) log(`${client.package} is left out: ${answer.unavailable}`);
    else installed.push({ client, ...answer });
  }
  const folders = new Map(installed.map(({ client, folder }) => [client.name, folder]));
  const rows = [];
  for (const part of parts) {
    if (part === 'upkeep') rows.push(...installed.map(upkeepRow).map((row) => told(row, log)));
    else if (brokersCanRun(log))
      rows.push(...(await PARTS_WITH_BROKERS[part]({ folders, share, alternate, log })));
  }
  return rows;
}

const contestantsOf = (folders, patterns) =>
  [...folders].flatMap(([client, folder]) =>
    patterns(client).map((pattern) => ({ client, folder, pattern })),
  );

function throughput({ folders, share, alternate }) {
  return withStops(async (stops) => {
    const stage = await openStage(stops, { brokers: 1, tunedFor: 'throughput' });
    const contestants = contestantsOf(folders, () => ['safe']);
    return measureThroughput({ ...stage, contestants, share, alternate, stops });
  });
}

/** The way that the project sends first, by itself; then the ways that it doesn't. */
function faults({ folders, share, log }) {
  return withStops(async (stops) => {
    const stage = await openStage(stops, { brokers: BROKERS });
    const accounts = [];
    for (const patterns of [['safe'], SENDING.filter((pattern) => pattern !== 'safe')]) {
      const contestants = contestantsOf(folders, () => patterns);
      for (const { fault, victim } of plan(RUNS.faults, share)) {
        const run = await runFault({ ...stage, contestants, fault, victim, everyMs: EVERY_MS });
        const lost = run.map((account) => `${account.client}-${account.pattern} ${account.lost}`);
        log(`node ${victim}, ${fault}: lost ${lost.join(', ')}`);
        accounts.push(...run);
      }
    }
    return lossRows(accounts).map((row) => told(row, log));
  });
}

function consumers({ folders, share, log }) {
  return withStops(async (stops) => {
    const stage = await openStage(stops, { brokers: BROKERS });
    const producing = { client: 'kafkajs', folder: folders.get('kafkajs') };
    const contestants = contestantsOf(folders, (client) => CONSUMING[client]);
    const restarts = [];
    for (const { fault, victim } of plan(RUNS.restarts, share)) {
      const run = await followThroughRestart({ ...stage, contestants, producing, fault, victim });
      const resumed = run.map(({ client, pattern, missing }) => `${client}-${pattern} ${missing}`);
      log(`node ${victim}, ${fault}: missing ${resumed.join(', ')}`);
      restarts.push(...run);
    }
    const members = contestants.filter(({ pattern }) => pattern === 'safe');
    const rebalances = [];
    for (let run = 0; run < scaled(RUNS.rebalances, share); run++)
      rebalances.push(...(await followThroughRebalances({ ...stage, contestants: members, producing })));
    return [...restartRows(restarts), ...rebalanceRows(rebalances)].map((row) => told(row, log));
  });
}

/** Every node has its turn. */
const plan = (runs, share) =>
  Object.entries(runs).flatMap(([fault, count]) =>
    Array.from({ length: scaled(count, share) }, (_, i) => ({ fault, victim: (i % BROKERS) + 1 })),
  );

const scaled = (runs, share) => Math.max(1, Math.round(runs * share));

function brokersCanRun(log) {
  const { available, why } = kafkaAvailable();
  if (!available) log(`what needs brokers is left out: ${why}`);
  return available;
}

async function openStage(stops, options) {
  const cluster = await startCluster(options);
  stops.add(() => cluster.close());
  const topics = await connectTopics(cluster.brokers);
  stops.add(() => topics.close());
  return { cluster, topics };
}

function told(row, log) {
  log(`${row.name}: ${row.ours} ${row.unit}; ${row.work}`);
  return row;
}
