// The consume ceiling: raw kafkajs in a process of its own reads a topic from its beginning and does nothing with it.
import { randomUUID } from 'node:crypto';

import { Kafka, logLevel } from 'kafkajs';

import { serveWork } from '../form/worker.mjs';

const [brokers] = process.argv.slice(2);
const kafka = new Kafka({
  clientId: 'bench-consumer',
  brokers: brokers.split(','),
  logLevel: logLevel.NOTHING,
});

/** Answers the seconds from the first message to the last. */
async function read({ topic, count }) {
  const consumer = kafka.consumer({ groupId: `bench-${randomUUID()}`, maxWaitTimeInMs: 200 });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  let seen = 0;
  let began;
  const seconds = await new Promise((resolve) => {
    void consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        // What came with the first fetch had arrived before the clock started.
        if (began === undefined) began = { at: performance.now(), seen: (seen = batch.messages.length) };
        else seen += batch.messages.length;
        if (seen >= count) resolve((performance.now() - began.at) / 1000);
      },
    });
  });
  await consumer.disconnect();
  return { seconds, messages: seen - began.seen };
}

await serveWork(read);
