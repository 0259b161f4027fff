// Devices in a process of their own. Each line of standard input is one work; each line of standard output its answer.
import { webcrypto } from 'node:crypto';
import { createRequire } from 'node:module';
import path from 'node:path';
import readline from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

import autocannon from 'autocannon';

const [root] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const load = (room) => require(path.join(root, 'libs', 'client', room, 'dist', 'index.js'));
const { createRandomiser, WebCryptoRandom } = load('ldp');
const { encodeReport, joinReports } = load('protocol');

const random = new WebCryptoRandom();

/** Reports of records of chance: what they hold is all the same to the gateway, but each must be possible and new. */
function reports({ task, artifact, randomiser: spec, count }) {
  const randomiser = createRandomiser(spec);
  const z = new Float64Array(randomiser.dimension).fill(
    spec.representation.radius / (2 * randomiser.dimension),
  );
  return Array.from({ length: count }, (_, i) =>
    encodeReport({
      task,
      artifact,
      id: webcrypto.getRandomValues(new Uint8Array(16)),
      payload: randomiser.randomise(z, i % randomiser.classes, random),
    }),
  );
}

/** Sends every body once over the connections; answers once the gateway says that nothing waits. */
async function send({ url, task, bodies, connections }) {
  const share = bodies.length / connections;
  if (!Number.isInteger(share))
    throw new Error(`${bodies.length} bodies don't go evenly over ${connections}`);
  let next = 0;
  let answered = 0;
  let allAnswered;
  const acknowledged = new Promise((resolve) => (allAnswered = resolve));
  const began = performance.now();
  const sending = autocannon({
    url: `${url}/v1/tasks/${task}/reports`,
    connections,
    amount: bodies.length,
    timeout: 60,
    setupClient: (client) => {
      const own = bodies.slice(next, (next += share));
      client.setRequests(
        own.map((body) => ({
          method: 'POST',
          headers: { 'content-type': 'application/cbor' },
          body: Buffer.from(body),
        })),
      );
    },
  });
  sending.on('response', () => ++answered === bodies.length && allAnswered());
  // Whoever loses a connection gets no last answer: then the sending's own end says what is missing.
  await Promise.race([acknowledged, sending]);
  const secondsToAcknowledge = (performance.now() - began) / 1000;
  let counts;
  do {
    counts = await (await fetch(`${url}/v1/tasks/${task}/counts`)).json();
    if (counts.waiting > 0) await pause(2);
  } while (counts.waiting > 0);
  const seconds = (performance.now() - began) / 1000;
  const { '2xx': successes, latency } = await sending;
  if (successes !== bodies.length)
    throw new Error(`${successes} of ${bodies.length} requests were acknowledged`);
  return { seconds, secondsToAcknowledge, p50: latency.p50, p99: latency.p99, stored: counts.stored };
}

const tell = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);

for await (const line of readline.createInterface({ input: process.stdin })) {
  const work = JSON.parse(line);
  try {
    const all = reports(work);
    const bodies = [];
    for (let i = 0; i < all.length; i += work.batch) {
      bodies.push(work.batch === 1 ? all[i] : joinReports(all.slice(i, i + work.batch)));
    }
    tell(await send({ ...work, bodies }));
  } catch (error) {
    tell({ failed: error.message });
  }
}
