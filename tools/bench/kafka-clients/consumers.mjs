// Whether a consumer goes on by itself: after a broker's restart under load, and while members of its group come and go.
import { setTimeout as sleep } from 'node:timers/promises';

import { startClient } from './client.mjs';
import { until } from './topics.mjs';

const PARTITIONS = 3;
const LOAD = { pattern: 'safe', partitions: PARTITIONS, messages: 20, everyMs: 10 };
const SESSION_MS = 10_000;
const STEADY_MS = 3_000;
const AWAY_MS = { kill: 8_000, stop: 3_000 };
const CAUGHT_UP_WITHIN_MS = 60_000;
const MOVED_WITHIN_MS = 60_000;

/**
 * All clients follow one topic, each in a group of its own, while the leader of a partition is killed or stopped and comes back.
 *
 * @param {{ cluster: object, topics: object, contestants: { client: string, folder: string, pattern: string }[],
 *   producing: object,
 *   fault: 'kill' | 'stop', victim: number }} options producing: the client that sends
 * @returns {Promise<object[]>} an account of each client; `resumed`: it got all that is in the log, by itself
 */
export async function followThroughRestart({ cluster, topics, contestants, producing, fault, victim }) {
  const topic = await topics.create({ partitions: PARTITIONS, firstLeader: victim });
  const sender = startClient(producing, cluster.brokers);
  const followers = contestants.map((contestant) => follower(contestant, cluster.brokers, topic));
  try {
    await sender.ask({ kind: 'send', topic, ...LOAD });
    await Promise.all(followers.map(({ start }) => start()));
    await sleep(STEADY_MS);
    const faultAt = Date.now();
    await cluster[fault](victim);
    await sleep(Math.max(0, AWAY_MS[fault] - (Date.now() - faultAt)));
    await cluster.start(victim);
    const backAt = Date.now();
    await sleep(STEADY_MS);
    await sender.ask({ kind: 'stopSending' });
    const log = await topics.read(topic);
    const stored = sum(log.map((numbers) => new Set(numbers).size));
    const endAt = Date.now();
    await Promise.all(followers.map(({ caughtUp }) => caughtUp(stored)));
    const accounts = [];
    for (const { client, pattern, worker } of followers) {
      const book = await worker.ask({ kind: 'stopFollowing' });
      const times = batchesOf([book]);
      accounts.push({
        client,
        pattern,
        fault,
        victim,
        ...coverageOf(log, [book]),
        silentSeconds: silenceIn(times, faultAt, endAt),
        silentSecondsOnceBack: silenceIn(times, backAt, endAt),
        ended: book.ended,
      });
    }
    return accounts.map((account) => ({ ...account, resumed: account.missing === 0 }));
  } finally {
    await Promise.all([sender, ...followers.map(({ worker }) => worker)].map((worker) => worker.stop()));
    await topics.delete([topic]);
  }
}

/**
 * All clients follow one topic under load, each in a group of its own, which a second member joins, leaves in order, joins
 * again, and leaves by SIGKILL.
 *
 * @returns {Promise<object[]>} an account of each client, with the longest time without a batch in any partition after each event
 */
export async function followThroughRebalances({ cluster, topics, contestants, producing }) {
  const topic = await topics.create({ partitions: PARTITIONS });
  const sender = startClient(producing, cluster.brokers);
  const workers = [sender];
  try {
    await sender.ask({ kind: 'send', topic, ...LOAD, everyMs: 30 });
    const groups = contestants.map((contestant) => {
      const join = () => {
        const member = follower(contestant, cluster.brokers, topic);
        workers.push(member.worker);
        return member;
      };
      return { ...contestant, join, books: [], silences: {} };
    });
    await Promise.all(groups.map((group) => rebalance(group)));
    await sender.ask({ kind: 'stopSending' });
    const log = await topics.read(topic);
    const stored = sum(log.map((numbers) => new Set(numbers).size));
    return await Promise.all(
      groups.map(async ({ client, pattern, first, books, silences }) => {
        await first.caughtUp(stored, books);
        books.push(await first.worker.ask({ kind: 'stopFollowing' }));
        const coverage = coverageOf(log, books);
        return {
          client,
          pattern,
          ...coverage,
          silences,
          ended: books.at(-1).ended,
          resumed: coverage.missing === 0,
        };
      }),
    );
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await topics.delete([topic]);
  }
}

async function rebalance(group) {
  const first = group.join();
  group.first = first;
  await first.start();
  await sleep(STEADY_MS);
  const marks = [];
  const mark = (event) => marks.push({ event, at: Date.now() });

  mark('joins');
  const second = group.join();
  await second.start();
  await sleep(STEADY_MS);
  mark('leaves');
  group.books.push(await second.worker.ask({ kind: 'stopFollowing' }));
  await second.worker.stop();
  await first.movesEverywhere();
  await sleep(STEADY_MS);

  mark('joins again');
  const third = group.join();
  await third.start();
  await sleep(STEADY_MS);
  group.books.push(await third.worker.ask({ kind: 'freeze' }));
  mark('is killed');
  process.kill(third.worker.pid, 'SIGKILL');
  await first.movesEverywhere();
  mark('end');

  const times = batchesOf([...group.books, await first.worker.ask({ kind: 'book' })]);
  for (const [i, { event, at }] of marks.slice(0, -1).entries())
    group.silences[event] = silenceIn(times, at, marks[i + 1].at);
}

function follower({ client, folder, pattern }, brokers, topic) {
  const worker = startClient({ client, folder }, brokers);
  const progress = () => worker.ask({ kind: 'progress' });
  const counts = async () => new Map((await progress()).partitions.map((p) => [p.partition, p.distinct]));
  return {
    client,
    pattern,
    worker,
    /** Resolves when batches come. */
    async start() {
      const group = `${topic}-${client}-${pattern}`;
      await worker.ask({ kind: 'follow', topic, group, pattern, sessionMs: SESSION_MS });
      await tryUntil(MOVED_WITHIN_MS, async () => (await counts()).size > 0);
    },
    /** Resolves when batches of all partitions come to this member. */
    async movesEverywhere() {
      const before = await counts();
      await tryUntil(MOVED_WITHIN_MS, async () => {
        const now = await counts();
        const moved = [...now].filter(([partition, count]) => count > (before.get(partition) ?? 0));
        return moved.length === PARTITIONS;
      });
    },
    /** Resolves when nothing that is stored is missing, or when it has waited for long enough. */
    async caughtUp(stored, books = []) {
      const others = books.length === 0 ? undefined : seenIn(books);
      await tryUntil(CAUGHT_UP_WITHIN_MS, async () => {
        if (others === undefined) return sum([...(await counts()).values()]) >= stored;
        const seen = seenIn([...books, await worker.ask({ kind: 'book' })]);
        return sum([...seen.values()].map((numbers) => numbers.size)) >= stored;
      });
    },
  };
}

const tryUntil = (withinMs, test) => until('progress', withinMs, test).catch(() => {});

/** Distinct numbers by partition. */
function seenIn(books) {
  const seen = new Map();
  for (const [partition, batches] of batchesOf(books))
    seen.set(partition, new Set(batches.flatMap(({ ranges }) => ranges.flatMap(numbersOf))));
  return seen;
}

function batchesOf(books) {
  const all = new Map();
  for (const { partition, batches } of books.flatMap(({ partitions }) => partitions))
    all.set(
      partition,
      [...(all.get(partition) ?? []), ...batches].sort((a, b) => a.at - b.at),
    );
  return all;
}

/** `missing`: in the log and never handed over; `repeated`: handed over once more than it is in the log. */
function coverageOf(log, books) {
  const seen = seenIn(books);
  const given = sum(
    [...batchesOf(books).values()].flatMap((batches) =>
      batches.map(({ ranges }) => sum(ranges.map(([, n]) => n))),
    ),
  );
  const distinct = sum([...seen.values()].map((numbers) => numbers.size));
  const missing = sum(
    log.map((numbers, p) => [...new Set(numbers)].filter((n) => !seen.get(p)?.has(n)).length),
  );
  return { stored: sum(log.map((numbers) => new Set(numbers).size)), missing, repeated: given - distinct };
}

/** The longest time without a batch in any partition between two moments, in seconds. */
function silenceIn(batches, from, to) {
  const silences = Array.from({ length: PARTITIONS }, (_, partition) => {
    const within = (batches.get(partition) ?? []).map(({ at }) => at).filter((at) => at > from && at < to);
    const times = [from, ...within, to];
    return Math.max(...times.slice(1).map((at, i) => at - times[i]));
  });
  return Math.max(...silences) / 1000;
}

const numbersOf = ([first, count]) => Array.from({ length: count }, (_, i) => first + i);
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
