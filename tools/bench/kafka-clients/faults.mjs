// What becomes of acknowledged messages when the leader of a partition is killed, or stopped, amid steady sends.
import { setTimeout as sleep } from 'node:timers/promises';

import { startClient } from './client.mjs';

export const PARTITIONS = 3;
const MESSAGES = 20;
const STEADY_MS = 3_000;
const AWAY_MS = { kill: 8_000, stop: 3_000 };
const BACK_MS = 5_000;

/**
 * One fault that all contestants meet at once, each with a topic of its own.
 *
 * @param {{ cluster: object, topics: object, contestants: { client: string, folder: string, pattern: string }[],
 *   fault: 'kill' | 'stop', victim: number, everyMs: number }} options victim: the broker that leads each partition 0
 * @returns {Promise<object[]>} one account a contestant
 */
export async function runFault({ cluster, topics, contestants, fault, victim, everyMs }) {
  const entries = [];
  for (const contestant of contestants) {
    const topic = await topics.create({ partitions: PARTITIONS, firstLeader: victim });
    entries.push({ ...contestant, topic, worker: startClient(contestant, cluster.brokers) });
  }
  try {
    const options = { partitions: PARTITIONS, messages: MESSAGES, everyMs };
    await Promise.all(
      entries.map(({ worker, topic, pattern }) => worker.ask({ kind: 'send', topic, pattern, ...options })),
    );
    await sleep(STEADY_MS);
    const faultAt = Date.now();
    await cluster[fault](victim);
    await sleep(Math.max(0, AWAY_MS[fault] - (Date.now() - faultAt)));
    await cluster.start(victim);
    await sleep(BACK_MS);
    const told = await Promise.all(entries.map(({ worker }) => worker.ask({ kind: 'stopSending' })));
    const accounts = [];
    for (const [i, { client, pattern, topic }] of entries.entries()) {
      const account = accountOf(told[i], await topics.read(topic), faultAt);
      accounts.push({ client, pattern, fault, victim, ...account });
    }
    return accounts;
  } finally {
    await Promise.all(entries.map(({ worker }) => worker.stop()));
    await topics.delete(entries.map(({ topic }) => topic));
  }
}

/**
 * Compares what a client was told with what is in the log.
 *
 * `lost`: acknowledged and not in the log; `doubled`: further copies in the log; `refusedStored`: refused and yet in the
 * log; `disordered`: messages after a later one of their partition (first copies only); `silentSeconds`: the longest time
 * without an acknowledgement in any partition from the fault on.
 */
export function accountOf({ partitions, errors, unanswered }, log, faultAt) {
  const account = { sent: 0, acked: 0, stored: 0, lost: 0, doubled: 0, refusedStored: 0, disordered: 0 };
  let silentMs = 0;
  partitions.forEach(({ sent, acked, ackedAt, refused }, partition) => {
    const numbers = log[partition];
    const copies = new Map();
    let highest = -1;
    for (const number of numbers) {
      const before = copies.get(number) ?? 0;
      copies.set(number, before + 1);
      if (before === 0 && number < highest) account.disordered += 1;
      highest = Math.max(highest, number);
    }
    const each = (ranges) =>
      ranges.flatMap(([first, count]) => Array.from({ length: count }, (_, i) => first + i));
    const ackedNumbers = each(acked);
    account.sent += sent;
    account.acked += ackedNumbers.length;
    account.stored += copies.size;
    account.lost += ackedNumbers.filter((number) => !copies.has(number)).length;
    account.doubled += numbers.length - copies.size;
    account.refusedStored += each(refused).filter((number) => copies.has(number)).length;
    const times = [faultAt, ...ackedAt.filter((at) => at > faultAt)].sort((a, b) => a - b);
    silentMs = times.slice(1).reduce((most, at, i) => Math.max(most, at - times[i]), silentMs);
    if (times.length === 1) silentMs = Infinity;
  });
  return { ...account, errors, unanswered, silentSeconds: silentMs / 1000 };
}
