// The V-RLM's training step: ours against PyTorch (where UNDERTONE_PEERS_PYTHON names a Python that has it), and the
// engine's backends against each other.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';

import { median } from './form/measurement.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const WORK = 'V-RLM step 784-512-256-16, batch 256';
const STEPS_A_RUN = { tensorflow: 60, wasm: 2, cpu: 1 };

export async function run({ root, alternate, log }) {
  const { trainerEnvironment } = createRequire(import.meta.url)(
    path.join(root, 'libs', 'learning', 'engine', 'dist', 'index.js'),
  );
  // The peer has the same allocator settings: they speed it up as well.
  const env = { ...process.env, ...trainerEnvironment() };
  const ours = (backend) =>
    startWorker(process.execPath, [path.join(here, 'training', 'worker.mjs'), root, backend], env).catch(
      (error) => {
        log(`backend ${backend} is left out: ${error.message}`);
      },
    );
  const workers = {};
  for (const backend of ['tensorflow', 'wasm', 'cpu']) workers[backend] = await ours(backend);
  const peer = await startPeer(env, log);
  const rows = [];
  try {
    const best = workers.tensorflow ? 'tensorflow' : 'wasm';
    const stepsOf = (worker, backend) => async () => median(await worker.steps(STEPS_A_RUN[backend]));
    if (peer && workers[best]) {
      const peerName = `${peer.hello.library}, fused Adam`;
      log(`${workers[best].hello.library} (${best}, ${workers[best].hello.mode}) against ${peerName}`);
      const peerRun = async () => median(await peer.steps(STEPS_A_RUN.tensorflow));
      rows.push(
        await alternate({
          work: `${WORK}, ${best}`,
          unit: 'ms',
          better: 'less',
          ours: stepsOf(workers[best], best),
          peer: peerRun,
          peerName,
          runs: 15,
        }),
      );
    }
    for (const [faster, slower] of [
      ['tensorflow', 'wasm'],
      ['wasm', 'cpu'],
    ]) {
      if (!workers[faster] || !workers[slower]) continue;
      rows.push(
        await alternate({
          work: `${WORK}, ${faster} against ${slower}`,
          unit: 'ms',
          better: 'less',
          ours: stepsOf(workers[faster], faster),
          peer: stepsOf(workers[slower], slower),
          peerName: slower,
          runs: 3,
        }),
      );
    }
  } finally {
    for (const worker of [...Object.values(workers), peer]) worker?.stop();
  }
  return rows;
}

async function startPeer(env, log) {
  const python = process.env.UNDERTONE_PEERS_PYTHON;
  if (!python) {
    log('PyTorch is left out: UNDERTONE_PEERS_PYTHON does not name a Python that has it');
    return undefined;
  }
  // A tuned BLAS choice for other libraries must not slow the peer down.
  const { OPENBLAS_CORETYPE: _core, OPENBLAS_L2_SIZE: _cache, ...peerEnv } = env;
  try {
    return await startWorker(python, [path.join(here, 'training', 'pytorch.py')], peerEnv);
  } catch (error) {
    log(`PyTorch is left out: ${error.message}`);
    return undefined;
  }
}

/** A process that is told a number of steps and answers with their times; its first line says what it is. */
async function startWorker(command, args, env) {
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
  let complaint = '';
  child.stderr.on('data', (chunk) => (complaint = (complaint + chunk).slice(-2000)));
  child.stdin.on('error', () => {});
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const failed = new Promise((_, reject) => {
    child.on('error', (error) => reject(new Error(`${command}: ${error.message}`)));
    child.on('exit', (code, signal) => {
      const last = complaint.trim().split('\n').at(-1);
      reject(new Error(last || `it ended with ${signal ?? code}`));
    });
  });
  failed.catch(() => {});
  const answer = async () => JSON.parse((await Promise.race([lines.next(), failed])).value ?? (await failed));
  const hello = await answer();
  return {
    hello,
    steps: (count) => {
      child.stdin.write(`${count}\n`);
      return answer();
    },
    stop: () => child.stdin.end(),
  };
}
