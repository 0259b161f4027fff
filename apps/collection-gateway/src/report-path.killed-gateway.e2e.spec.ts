import { CountsDocument, encodeReports, type Report } from '@undertone/protocol';
import { connectStore, type Store } from '@undertone/store';
import { startTestDatabase, type TestDatabase } from '@undertone/store/testing';

import { GatewayProcess } from '../test/gateway-process';
import { publishSample } from '../test/sample-artifact';
import { sampleReport, sampleTask } from '../test/sample-task';

const REPORTS = 6_000;
const BATCH = 60;
const SENDERS = 4;
const KILLS = 2;

let database: TestDatabase;
let store: Store;
let gateway: GatewayProcess | undefined;

beforeAll(async () => {
  database = await startTestDatabase();
  store = connectStore(database.url);
}, 60_000);
afterAll(async () => {
  await gateway?.kill();
  await store.close();
  await database.stop();
});

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

it('kill -9 amid a collection: every acknowledged report is stored, and each once', async () => {
  const { id: artifact } = await publishSample(store);
  const running = await GatewayProcess.start(database.url);
  gateway = running;
  const made = await fetch(`${running.url}/v1/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'weather', artifact }),
  });
  expect(made.status).toBe(201);

  const task = sampleTask('weather', { artifact });
  const batches: Report[][] = [];
  for (let i = 0; i < REPORTS; i += BATCH) {
    batches.push(Array.from({ length: BATCH }, (_, j) => sampleReport(task, i + j)));
  }
  const acknowledged: Report[] = [];
  let attempts = 0;

  /** As a device does: the same bytes until they are acknowledged. */
  const send = async (reports: Report[]): Promise<void> => {
    const body = encodeReports(reports);
    for (;;) {
      attempts++;
      const answer = await fetch(`${gateway!.url}/v1/tasks/weather/reports`, {
        method: 'POST',
        headers: { 'content-type': 'application/cbor' },
        body,
      }).catch(() => undefined);
      if (answer?.status === 202) return void acknowledged.push(...reports);
      await pause(10);
    }
  };
  const queue = [...batches];
  const senders = Array.from({ length: SENDERS }, async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) await send(next);
  });
  for (let kill = 1; kill <= KILLS; kill++) {
    const share = (REPORTS * kill) / (KILLS + 1);
    while (acknowledged.length < share) await pause(1);
    await gateway.kill();
    gateway = await GatewayProcess.start(database.url);
  }
  await Promise.all(senders);
  expect(attempts).toBeGreaterThan(batches.length);

  // A last kill with entries still in the log, then a fresh start that finds them.
  await gateway.kill();
  gateway = await GatewayProcess.start(database.url);
  let counts: CountsDocument;
  do {
    await pause(10);
    counts = CountsDocument.parse(await (await fetch(`${gateway.url}/v1/tasks/weather/counts`)).json());
  } while (counts.waiting !== 0);

  const stored: string[] = [];
  for await (const batch of store.reports.read('weather')) {
    for (const { id, payload } of batch) stored.push(hex(id) + hex(payload));
  }
  const sent = batches.flat().map(({ id, payload }) => hex(id) + hex(payload));
  expect(acknowledged).toHaveLength(REPORTS);
  expect(stored).toEqual(sent.sort());
  expect(counts.stored).toBe(REPORTS);
  expect(counts.rejected).toEqual({});
  // Each attempt that reached the log and was sent again is a whole batch of repeats.
  expect(counts.repeated % BATCH).toBe(0);
  expect(counts.repeated).toBeLessThanOrEqual((attempts - batches.length) * BATCH);

  expect(await gateway.stop()).toBe(0);
}, 60_000);

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
