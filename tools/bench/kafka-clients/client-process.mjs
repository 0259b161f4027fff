// One client in a process of its own, so that it can neither slow another down nor take it along.
import { setTimeout as sleep } from 'node:timers/promises';

import { serveWork } from '../form/worker.mjs';
import { driverOf } from './drivers/driver.mjs';
import { Following } from './following.mjs';
import { WARM_UP, numberOf, valueOf } from './payload.mjs';
import { Sending } from './sending.mjs';

const [client, folder, ...brokers] = process.argv.slice(2);
const openDriver = await driverOf(client);
const driver = openDriver({ folder, brokers, name: `bench-${client}` });
const ANSWER_WITHIN_MS = 75_000;
const CLOSE_WITHIN_MS = 5_000;
let sending;
let following;

const works = {
  /** Sends steadily until told to stop. */
  async send({ topic, ...options }) {
    const producer = await driver.openProducer(topic);
    for (let partition = 0; partition < options.partitions; partition++)
      await producer.produce(partition, [valueOf(partition, WARM_UP)]);
    sending = { producer, run: new Sending(producer, options) };
    return {};
  },
  async stopSending() {
    const result = await sending.run.stop(ANSWER_WITHIN_MS);
    await inTime(sending.producer.close());
    return result;
  },
  /** Follows a topic as a member of a group until told to stop. */
  async follow(options) {
    following = await Following.start(driver, options);
    return {};
  },
  progress: async () => following.progress(),
  book: async () => following.book(),
  /** Takes nothing more, as a process that is about to be killed. */
  freeze: async () => following.freeze(),
  async stopFollowing() {
    const result = following.book();
    await inTime(following.close());
    return result;
  },
  /** As fast as it goes, one send in flight to each partition. */
  async produce({ topic, partitions, sends, batch }) {
    const producer = await driver.openProducer(topic);
    const values = Array.from({ length: batch }, (_, i) => valueOf(0, i));
    await Promise.all(Array.from({ length: partitions }, (_, p) => producer.produce(p, values)));
    const began = performance.now();
    let left = sends;
    const lane = async (partition) => {
      while (left-- > 0) await producer.produce(partition, values);
    };
    await Promise.all(Array.from({ length: partitions }, (_, p) => lane(p)));
    const seconds = (performance.now() - began) / 1000;
    await inTime(producer.close());
    return { seconds };
  },
  /** From joining the group on, each batch committed. */
  async consume({ topic, group, count }) {
    let consumed = 0;
    let done;
    const whole = new Promise((resolve) => (done = resolve));
    const began = performance.now();
    const consumer = await driver.openConsumer({
      topic,
      group,
      sessionMs: 30_000,
      pattern: 'safe',
      take: async ({ values }) => {
        for (const value of values) if (numberOf(value) >= 0) consumed += 1;
        if (consumed >= count) done((performance.now() - began) / 1000);
      },
      ended: (why) => done(Promise.reject(new Error(`the consumer ended: ${why}`))),
    });
    const seconds = await whole;
    await inTime(consumer.close());
    return { seconds };
  },
};

/** A client that doesn't come to an end is left behind: its process ends with the run. */
const inTime = (closing) => Promise.race([Promise.resolve(closing).catch(() => {}), sleep(CLOSE_WITHIN_MS)]);

process.on('unhandledRejection', (error) => console.error(`${client}: unhandled: ${error?.message}`));
await serveWork(({ kind, ...work }) => works[kind](work));
process.exit(0);
