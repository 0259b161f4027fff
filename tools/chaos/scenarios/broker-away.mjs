import { setTimeout as pause } from 'node:timers/promises';

import { residentMebibytes } from '../../bench/form/process-use.mjs';
import { audit, auditLog, hasHeld } from '../audit.mjs';
import { Fleet } from '../fleet.mjs';
import { openRig, until } from '../rig.mjs';

const SENT_BEFORE = 0.3;
/** What is in flight fills up first; memory is judged after that. */
const FILLING_SECONDS = 10;
const ALLOWED_GROWTH = 0.1;
const LONGEST_PAUSE_MS = 250;

/** Every broker is away for a time while devices go on: 503s, flat memory, and nothing acknowledged is lost. */
export async function run({ options, stops, log }) {
  const rig = await openRig(stops, { brokers: options.brokers, gateways: 1, log });
  const { cluster, gateways, stage, task } = rig;
  const [gateway] = gateways;
  const { pool } = stage.store;
  const { reports, batch, devices, seconds } = options;
  const fleet = new Fleet({
    urls: [gateway.url],
    task,
    artifact: stage.artifact,
    reports,
    batch,
    devices,
    longestPauseMs: LONGEST_PAUSE_MS,
  });
  const memory = [];
  const sample = () => memory.push({ second: memory.length, mebibytes: residentMebibytes(gateway.pid) });
  const timer = setInterval(sample, 1_000);
  stops.add(() => clearInterval(timer));
  const sending = fleet.send();
  while (fleet.acked < SENT_BEFORE * reports) await pause(5);

  log(`every broker stops, at ${fleet.acked} acknowledged`);
  await Promise.all(cluster.ids.map((id) => cluster.stop(id)));
  const stopped = { acked: fleet.acked, second: memory.length };
  await pause(seconds * 1_000);
  const back = { acked: fleet.acked, second: memory.length, answers: { ...fleet.answers } };
  log(`they come back, at ${fleet.acked} acknowledged and ${fleet.answers[503] ?? 0} answers of 503`);
  const startedAt = performance.now();
  await Promise.all(cluster.ids.map((id) => cluster.start(id)));
  const secondsToStart = (performance.now() - startedAt) / 1_000;
  await until('a report is acknowledged again', async () => fleet.acked > back.acked, { everyMs: 10 });
  const secondsToAcks = (performance.now() - startedAt) / 1_000;
  await sending;
  await until('no message waits', async () => (await cluster.lag(pool)) === 0);
  clearInterval(timer);

  const table = await audit(pool, task, fleet);
  const inLog = auditLog(await cluster.read(cluster.reports), fleet);
  const away = memory.slice(stopped.second, back.second).map(({ mebibytes }) => mebibytes);
  const flatness = judge(away);
  const unavailable = { answers: fleet.answers[503] ?? 0, withRetryAfter: fleet.retryAfter };
  return {
    ...table,
    log: inLog,
    answers: fleet.answers,
    unavailable,
    secondsAway: seconds,
    seconds: { brokersStart: rounded(secondsToStart), untilAcksAgain: rounded(secondsToAcks) },
    memory: { ...flatness, samples: memory.map(({ mebibytes }) => Math.round(mebibytes)) },
    gateways: gateways.map(({ name, ends }) => ({ name, ends })),
    held:
      hasHeld(table, inLog) &&
      flatness.flat &&
      gateway.ends.length === 0 &&
      unavailable.answers > 0 &&
      unavailable.answers === unavailable.withRetryAfter,
  };
}

/** Flat: the level at the end of the time away is at most a tenth above the level once all buffers are full. */
function judge(away) {
  const settled = away.slice(Math.min(FILLING_SECONDS, Math.floor(away.length / 3)));
  const third = Math.max(1, Math.floor(settled.length / 3));
  const [early, late] = [settled.slice(0, third), settled.slice(-third)].map(mean);
  return {
    earlyMebibytes: rounded(early),
    lateMebibytes: rounded(late),
    mostMebibytes: rounded(Math.max(...away)),
    flat: late <= early * (1 + ALLOWED_GROWTH),
  };
}

const mean = (figures) => figures.reduce((sum, figure) => sum + figure, 0) / figures.length;
const rounded = (value) => Number(value.toFixed(2));
