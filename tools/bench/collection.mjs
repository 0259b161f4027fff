// The way of a report from a device's request into the table: gateway and devices in processes of their own, an embedded
// PostgreSQL that waits for the disk (fsync on). "Stored" means: committed to the report table, not only acknowledged.
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';

import { copyRows, insertRows } from './collection/copier.mjs';
import { median } from './form/measurement.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);

const RANDOMISER = {
  kind: 'factorised',
  representation: { kind: 'laplace-l1', dimension: 8, radius: 1, epsilon: 6 },
  label: { kind: 'k-rr', classes: 10, epsilon: 2 },
};
const PAYLOAD_BYTES = 33;
const BATCHES = { count: 40_000, batch: 500, connections: 8 };
const SINGLES = { count: 6_400, batch: 1, connections: 64 };

export async function run({ root, alternate, log }) {
  const load = (...parts) => require(path.join(root, 'libs', ...parts, 'dist', 'index.js'));
  const { applyMigrations, connectStore, EmbeddedDatabase } = load('platform', 'store');
  const home = mkdtempSync(path.join(os.tmpdir(), 'undertone-bench-'));
  // The server runs under an account of its own and reads the ceiling's file from here.
  chmodSync(home, 0o755);
  const stops = [() => rmSync(home, { recursive: true, force: true })];
  try {
    const database = await EmbeddedDatabase.start({ home });
    stops.push(() => database.stop());
    await applyMigrations(database.url);
    const store = connectStore(database.url, { max: 70 });
    stops.push(() => store.close());
    const artifact = await publish(store, load);
    const gateway = await startGateway(root, database.url);
    stops.push(() => gateway.stop());
    const devices = startDevices(root);
    stops.push(() => devices.stop());
    return await measureRows({ store, artifact, gateway, devices, home, alternate, log });
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

async function measureRows({ store, artifact, gateway, devices, home, alternate, log }) {
  let tasks = 0;
  const latencies = {};
  const collect = async (name, shape) => {
    const task = `bench-${++tasks}`;
    await makeTask(gateway.url, task, artifact);
    const result = await devices.send({ url: gateway.url, task, artifact, randomiser: RANDOMISER, ...shape });
    if (result.stored !== shape.count)
      throw new Error(`${result.stored} of ${shape.count} reports are stored`);
    (latencies[name] ??= []).push(result);
    return shape.count / result.seconds;
  };
  const table = { task: 'bench', artifact, payloadBytes: PAYLOAD_BYTES, folder: home };
  const rows = [
    await alternate({
      work: `batches of ${BATCHES.batch}, ${BATCHES.connections} connections, until stored`,
      unit: 'reports/s',
      better: 'more',
      ours: () => collect('batches', BATCHES),
      peer: () => copyRows(store.pool, { ...table, count: BATCHES.count }),
      peerName: 'one COPY from a file (ceiling)',
      runs: 5,
    }),
    await alternate({
      work: `single reports, ${SINGLES.connections} connections, until stored`,
      unit: 'reports/s',
      better: 'more',
      ours: () => collect('singles', SINGLES),
      peer: () => insertRows(store.pool, { ...table, ...SINGLES }),
      peerName: 'one INSERT a report, no HTTP, no log',
      runs: 5,
    }),
  ];
  for (const [name, results] of Object.entries(latencies)) {
    const measured = results.slice(1); // the first warmed up
    for (const quantile of ['p50', 'p99']) {
      rows.push(
        withoutPeer(
          `${name}: time to 202, ${quantile}`,
          median(measured.map((r) => r[quantile])),
          'ms',
          measured.length,
        ),
      );
    }
  }
  rows.push(withoutPeer('gateway process, most memory', gateway.mostMemoryMebibytes(), 'MiB', 1));
  for (const { work, ours, unit, peerName } of rows) if (peerName === null) log(`${work}: ${ours} ${unit}`);
  return rows;
}

const withoutPeer = (work, ours, unit, runs) => ({
  work,
  ours: Number(ours.toPrecision(4)),
  peer: null,
  peerName: null,
  unit,
  ratio: null,
  runs,
});

async function publish(store, load) {
  const { generateSigningKey, mechanismClaim, sealArtifact } = load('client', 'artifact');
  const { createRandomiser, WebCryptoRandom } = load('client', 'ldp');
  const key = generateSigningKey(new WebCryptoRandom());
  const { dimension, radius } = RANDOMISER.representation;
  const body = {
    name: 'bench',
    schema: { kind: 'image', height: 28, width: 28, channels: 1, maximum: 255 },
    labels: Array.from({ length: RANDOMISER.label.classes }, (_, i) => `${i}`),
    encoder: {
      layers: [{ inputs: 784, outputs: dimension, activation: 'linear' }],
      projection: { kind: 'l1-ball', radius },
    },
    randomiser: RANDOMISER,
    claim: mechanismClaim(createRandomiser(RANDOMISER), { kind: 'public' }),
    lineage: {},
  };
  const weights = [new Float32Array(784 * dimension), new Float32Array(dimension)];
  const { id, file } = sealArtifact(body, weights, key);
  await store.mechanisms.publish({
    id,
    name: body.name,
    signer: key.publicKey,
    file,
    claim: body.claim,
    lineage: {},
    metrics: {},
  });
  return id;
}

async function makeTask(url, name, artifact) {
  const answer = await fetch(`${url}/v1/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, artifact }),
  });
  if (answer.status !== 201) throw new Error(`task ${name} was not made: ${await answer.text()}`);
}

function startGateway(root, databaseUrl) {
  const program = path.join(root, 'apps', 'collection-gateway', 'dist', 'main.js');
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, DATABASE_URL: databaseUrl, UNDERTONE_PORT: '0', UNDERTONE_LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the gateway ended with ${code}`)));
    readline.createInterface({ input: child.stdout }).on('line', (line) => {
      const url = /answers at (http:\S+)/.exec(line)?.[1];
      if (url === undefined) return;
      resolve({
        url,
        mostMemoryMebibytes: () => {
          const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
          return Number(/VmHWM:\s+(\d+) kB/.exec(status)[1]) / 1024;
        },
        stop: () =>
          new Promise((ended) => {
            child.once('exit', ended);
            child.kill('SIGTERM');
          }),
      });
    });
  });
}

function startDevices(root) {
  const child = spawn(process.execPath, [path.join(here, 'collection', 'sender.mjs'), root], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    send: async (work) => {
      child.stdin.write(`${JSON.stringify(work)}\n`);
      const { value } = await lines.next();
      if (value === undefined) throw new Error('the devices’ process ended');
      const answer = JSON.parse(value);
      if (answer.failed !== undefined) throw new Error(answer.failed);
      return answer;
    },
    stop: () => child.stdin.end(),
  };
}
