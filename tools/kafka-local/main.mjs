// npm run kafka: a real Kafka broker, or three, on this machine.
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { fetchWhatIsMissing, isLackOfMachine, KafkaLocalError, startCluster } from './cluster.mjs';

const USAGE = `usage: npm run kafka -- [options]
  --brokers 1|3        1 (the default), or a cluster with replication 3 of which 2 must be in sync
  --folder FOLDER      where the data lies; a later start on it serves the same topics (default: .undertone/kafka,
                       or .undertone/kafka-3 for three; with --json a temporary one)
  --port PORT          the first broker's port (default: a free one, kept with the data)
  --settings KEY=VALUE a line of server.properties, any number of times
  --heap MEGABYTES     of each broker (default: 512)
  --tuned-for quick-start|throughput
  --check              only fetch what is missing, and say whether this machine can run a broker (JSON; exit code 3
                       when it can't)
  --json               for programs: facts as JSON lines on standard output, commands on standard input
                       (kill ID, stop ID, start ID, close); ends when standard input does`;

const OPTIONS = {
  brokers: { type: 'string' },
  folder: { type: 'string' },
  port: { type: 'string' },
  settings: { type: 'string', multiple: true },
  heap: { type: 'string' },
  'tuned-for': { type: 'string' },
  check: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
};
const EXIT = { wrong: 1, usage: 2, unavailable: 3, interrupted: 130 };

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
const fact = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const aside = (line) => console.error(line);

function readArguments(args) {
  try {
    const { values } = parseArgs({ args, options: OPTIONS, strict: true });
    return {
      ...values,
      brokers: wholeNumber('--brokers', values.brokers ?? '1'),
      port: values.port === undefined ? undefined : wholeNumber('--port', values.port),
      heapMegabytes: values.heap === undefined ? undefined : wholeNumber('--heap', values.heap),
      tunedFor: oneOf('--tuned-for', values['tuned-for'], ['quick-start', 'throughput']),
      settings: Object.fromEntries((values.settings ?? []).map(setting)),
    };
  } catch (error) {
    throw new KafkaLocalError('bad-argument', error.message);
  }
}

function wholeNumber(name, text) {
  if (/^[0-9]{1,6}$/.test(text) && Number(text) > 0) return Number(text);
  throw new Error(`${name} ${text}: a whole number is wanted`);
}

function oneOf(name, value, values) {
  if (value === undefined || values.includes(value)) return value;
  throw new Error(`${name} ${value}: one of ${values.join(', ')} is wanted`);
}

function setting(line) {
  const at = line.indexOf('=');
  if (at > 0) return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  throw new Error(`--settings ${line}: key=value is wanted, such as message.max.bytes=1048576`);
}

function defaultFolder({ brokers, json }) {
  if (json) return undefined;
  const home = process.env.UNDERTONE_HOME || path.join(root, '.undertone');
  return path.join(home, brokers === 1 ? 'kafka' : `kafka-${brokers}`);
}

async function main(args) {
  const asJson = args.includes('--json');
  try {
    const options = readArguments(args);
    if (options.help) {
      console.log(USAGE);
      return 0;
    }
    if (options.check) return await check();
    return await (asJson ? serveProgram(options) : servePerson(options));
  } catch (error) {
    return tellFailure(error, asJson);
  }
}

async function check() {
  try {
    await fetchWhatIsMissing(aside);
    fact({ available: true });
    return 0;
  } catch (error) {
    if (!isLackOfMachine(error)) throw error;
    fact({ available: false, why: error.message });
    return EXIT.unavailable;
  }
}

function tellFailure(error, asJson) {
  const message = error instanceof KafkaLocalError ? error.message : error.stack;
  if (asJson)
    fact(isLackOfMachine(error) ? { unavailable: message } : { error: { code: error.code, message } });
  else
    aside(error.code === 'bad-argument' ? `${message} (npm run kafka -- --help lists the options)` : message);
  if (isLackOfMachine(error)) return EXIT.unavailable;
  return error.code === 'bad-argument' ? EXIT.usage : EXIT.wrong;
}

const start = (options, more) =>
  startCluster({ ...options, folder: options.folder ?? defaultFolder(options), log: aside, ...more });

/** Until SIGINT or SIGTERM, or until no broker is left. */
async function servePerson(options) {
  const began = Date.now();
  const ended = deferred();
  let asked = false;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // While it starts, or the second time: at once. The guard ends the brokers.
      if (asked || cluster === undefined) process.exit(EXIT.interrupted);
      asked = true;
      ended.resolve(0);
    });
  }
  let cluster;
  cluster = await start(options, {
    onUnexpectedEnd: ({ error }) => {
      aside(error.message);
      if (cluster.nodes.every(({ pid }) => pid === undefined)) ended.resolve(EXIT.wrong);
    },
  });
  console.log(`KAFKA_BROKERS=${cluster.brokers.join(',')}`);
  const count = cluster.brokers.length === 1 ? '1 broker' : `${cluster.brokers.length} brokers`;
  aside(
    `Kafka 4.4.0, ${count}, ready after ${((Date.now() - began) / 1000).toFixed(1)} s; data in ${cluster.folder}; Ctrl-C stops it`,
  );
  const code = await keptAlive(ended.promise);
  await cluster.close();
  return code;
}

/** Until `close`, the end of standard input, SIGINT or SIGTERM. */
async function serveProgram(options) {
  const ended = deferred();
  let cluster;
  const end = () => {
    if (cluster === undefined) process.exit(EXIT.interrupted);
    ended.resolve();
  };
  process.stdout.on('error', end);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, end);
  const waiting = [];
  const lines = createInterface({ input: process.stdin });
  lines.on('close', end);
  lines.on('line', (line) => (cluster === undefined ? waiting.push(line) : obey(line)));
  // What is asked of one node is done in order, whatever another one is busy with.
  const turns = new Map();
  const obey = async (line) => {
    const [verb, id, ...rest] = line.trim().split(/\s+/);
    if (verb === 'close' && id === undefined) return ended.resolve(line);
    const turn = (turns.get(id) ?? Promise.resolve()).then(() => act(verb, id, rest));
    turns.set(
      id,
      turn.catch(() => undefined),
    );
    try {
      await turn;
      fact({ done: line, nodes: cluster.nodes });
    } catch (error) {
      fact({ failed: line, message: error.message });
    }
  };
  const act = async (verb, id, rest) => {
    if (!['kill', 'stop', 'start'].includes(verb) || !/^[0-9]{1,4}$/.test(id ?? '') || rest.length > 0) {
      throw new Error('not a command: kill ID, stop ID, start ID or close is wanted');
    }
    await cluster[verb](Number(id));
  };

  cluster = await start(options, {
    onUnexpectedEnd: ({ id, error }) => fact({ ended: id, message: error.message }),
  });
  fact({ ready: true, brokers: cluster.brokers, nodes: cluster.nodes, folder: cluster.folder });
  for (const line of waiting) obey(line);
  const closing = await keptAlive(ended.promise);
  await cluster.close();
  if (closing !== undefined) fact({ done: closing });
  return 0;
}

/** The brokers don't keep this process alive; this does. */
async function keptAlive(promise) {
  const timer = setInterval(() => undefined, 60_000);
  try {
    return await promise;
  } finally {
    clearInterval(timer);
  }
}

function deferred() {
  let resolve;
  const promise = new Promise((r) => (resolve = r));
  return { promise, resolve };
}

process.exitCode = await main(process.argv.slice(2));
// Standard input may still be open; what was written last has to get out first.
process.stdout.write('', () => process.exit());
