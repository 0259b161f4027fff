// Devices in a process of their own: works { kind: 'prepare', … } and { kind: 'send', … }.
import autocannon from 'autocannon';

import { quantile } from '../form/measurement.mjs';
import { serveWork } from '../form/worker.mjs';
import { load } from './packages.mjs';
import { sampleReports } from './sample-reports.mjs';

const { encodeReport, joinReports } = load('client', 'protocol');

let bodies = [];

/** Bodies of `batch` reports each; 1 makes bodies of one report, not of a batch. */
async function prepare({ task, artifact, count, batch }) {
  const encoded = sampleReports({ task, artifact, count }).map(encodeReport);
  bodies = [];
  for (let i = 0; i < encoded.length; i += batch) {
    bodies.push(Buffer.from(batch === 1 ? encoded[i] : joinReports(encoded.slice(i, i + batch))));
  }
  return { bodies: bodies.length };
}

/** How soon after the last answer autocannon notices that it has ended. */
const NOTICE_MS = 20;

/** Sends every body once over the connections; answers once each is acknowledged. */
async function send({ url, connections }) {
  const share = bodies.length / connections;
  if (!Number.isInteger(share))
    throw new Error(`${bodies.length} bodies don't go evenly over ${connections} connections`);
  const headers = { 'content-type': 'application/cbor' };
  const times = [];
  let next = 0;
  let answered = 0;
  let allAnswered;
  const acknowledged = new Promise((resolve) => (allAnswered = resolve));
  let beganAt, began;
  const sending = autocannon({
    url,
    connections,
    amount: bodies.length,
    timeout: 60,
    sampleInt: NOTICE_MS,
    setupClient: (client) => {
      const own = bodies.slice(next, (next += share));
      client.setRequests(own.map((body) => ({ method: 'POST', headers, body })));
      // Building requests is no part of sending them, and none is sent before all clients are set up.
      [beganAt, began] = [Date.now(), performance.now()];
    },
  });
  sending.on('response', (_client, status, _bytes, time) => {
    if (status < 300) times.push(time);
    if (++answered === bodies.length) allAnswered();
  });
  // Whoever loses a connection gets no last answer: then the sending's own end says what is missing.
  await Promise.race([acknowledged, sending]);
  const seconds = (performance.now() - began) / 1000;
  await sending;
  if (times.length !== bodies.length)
    throw new Error(`${times.length} of ${bodies.length} requests were acknowledged`);
  return { beganAt, seconds, p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

await serveWork((work) => (work.kind === 'prepare' ? prepare(work) : send(work)));
