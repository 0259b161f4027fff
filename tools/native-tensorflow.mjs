// Puts the native addon of @tensorflow/tfjs-node in place. It needs only Node's own modules and what `npm ci` installs.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

// The C API is stable, so a newer libtensorflow than the addon's authors used serves it. Built for CPython 3.11,
// but only its shared libraries and headers are used: any local Python can fetch it.
const WHEEL = {
  requirement: 'tensorflow-cpu==2.21.0',
  sha256: '2b847d217b02ee7731ed91431daf3250daa0196c3c94614d23be27232e6e5b6c',
  platform: 'manylinux_2_27_x86_64',
  megabytes: 274,
};
const LIBRARIES = ['libtensorflow_cc.so.2', 'libtensorflow_framework.so.2'];
const LIBRARY_LINKS = {
  'libtensorflow.so': 'libtensorflow_cc.so.2',
  'libtensorflow.so.2': 'libtensorflow_cc.so.2',
  'libtensorflow_framework.so': 'libtensorflow_framework.so.2',
};
const HEADERS = [
  ...[
    'c_api',
    'c_api_macros',
    'tf_attrtype',
    'tf_buffer',
    'tf_datatype',
    'tf_status',
    'tf_tensor',
    'tf_tstring',
  ].map((name) => `tensorflow/c/${name}.h`),
  'tensorflow/c/eager/c_api.h',
  'tensorflow/core/platform/ctstring.h',
  'tensorflow/core/platform/ctstring_internal.h',
  'tsl/platform/ctstring.h',
  'tsl/platform/ctstring_internal.h',
  'xla/tsl/c/tsl_status.h',
];

const STAMP = 'undertone-native.json';
const UPSTREAM_SILENCE_MS = 20_000;
const UPSTREAM_LIMIT_MS = 300_000;
const DOWNLOAD_LIMIT_MS = 900_000;
const BUILD_LIMIT_MS = 300_000;
const LOCK_BEAT_MS = 2_000;
const LOCK_STALE_MS = 20_000;

/**
 * Makes the native TensorFlow backend loadable from `root/node_modules`, by the first way that works: already there;
 * the cache of an earlier build; the package's own installer (given up when it makes no progress for 20 s); its C++
 * sources built against the library out of a Python wheel. Safe to run at any time and from several processes.
 *
 * Never throws: where nothing works the engine runs on WebAssembly, and `detail` says in one line what was tried.
 *
 * @param {{ root: string, log?: (line: string) => void }} options
 * @returns {Promise<{ outcome: 'present' | 'installed' | 'unavailable', detail: string }>}
 */
export async function installNativeTensorflow({ root, log = () => {} }) {
  const tried = [];
  try {
    const addon = describeAddon(root);
    if (isLinked(addon)) return { outcome: 'present', detail: `TensorFlow.js ${addon.version}, native` };

    mkdirSync(addon.cacheRoot, { recursive: true });
    return await withLock(path.join(addon.cacheRoot, 'native.lock'), log, async () => {
      if (isLinked(addon)) return { outcome: 'present', detail: `TensorFlow.js ${addon.version}, native` };
      for (const name of readdirSync(addon.cacheRoot)) {
        if (name.startsWith('unfinished-')) removeTree(path.join(addon.cacheRoot, name));
      }
      const ways = [
        ['cache', fromCache],
        ['its own installer', fromUpstream],
        ['build from a Python wheel', fromWheel],
      ];
      for (const [way, install] of ways) {
        try {
          const detail = await install(addon, log);
          if (detail) return { outcome: 'installed', detail };
        } catch (error) {
          tried.push(`${way}: ${firstLine(error)}`);
          log(`${way}: ${firstLine(error)}`);
        }
      }
      return unavailable(tried);
    });
  } catch (error) {
    tried.push(firstLine(error));
    return unavailable(tried);
  }
}

const unavailable = (tried) => ({
  outcome: 'unavailable',
  detail: `native TensorFlow is not available (${tried.join('; ')}); training runs on WebAssembly, about 60 times slower`,
});

function describeAddon(root) {
  const folder = path.join(root, 'node_modules', '@tensorflow', 'tfjs-node');
  const manifest = path.join(folder, 'package.json');
  if (!existsSync(manifest)) {
    throw new Error('@tensorflow/tfjs-node is not in node_modules: run `npm ci --ignore-scripts` first');
  }
  const { version, binary } = JSON.parse(readFileSync(manifest, 'utf8'));
  const napi = Math.max(...binary.napi_versions.filter((v) => v <= Number(process.versions.napi)));
  const cacheRoot = process.env.UNDERTONE_CACHE_DIR || path.join(os.homedir(), '.cache', 'undertone');
  const wheel = WHEEL.requirement.replace('==', '-');
  const key = ['tfjs-node', version, wheel, `napi-v${napi}`, process.platform, process.arch].join('-');
  return { root, folder, version, key, cacheRoot, cached: path.join(cacheRoot, key), napi };
}

const binaryIn = (folder, addon) => path.join(folder, 'lib', `napi-v${addon.napi}`, 'tfjs_binding.node');

/** Files only, so that a start with everything in place costs no time: the addon was loaded once when it was linked. */
function isLinked(addon) {
  const stamp = path.join(addon.folder, 'lib', STAMP);
  return (
    existsSync(binaryIn(addon.folder, addon)) &&
    existsSync(stamp) &&
    JSON.parse(readFileSync(stamp, 'utf8')).key === addon.key &&
    existsSync(path.join(addon.folder, 'deps', 'lib'))
  );
}

async function fromCache(addon) {
  if (!existsSync(path.join(addon.cached, 'lib', STAMP))) return undefined;
  try {
    link(addon);
    return `TensorFlow.js ${addon.version}, native, from the cache (${await verify(addon)})`;
  } catch (error) {
    unlink(addon);
    removeTree(addon.cached);
    throw new Error(`the cached build does not load and was removed (${firstLine(error)})`);
  }
}

async function fromUpstream(addon, log) {
  log('trying the installer of @tensorflow/tfjs-node');
  unlink(addon);
  const manifest = path.join(addon.folder, 'package.json');
  const before = readFileSync(manifest);
  try {
    // It reports a failed download only as an uncaught error, so its own exit code can't be trusted: the addon is loaded.
    await run(process.execPath, ['scripts/install.js'], {
      cwd: addon.folder,
      env: {
        ...process.env,
        PATH: [path.join(addon.root, 'node_modules', '.bin'), process.env.PATH].join(path.delimiter),
      },
      limitMs: UPSTREAM_LIMIT_MS,
      silenceMs: UPSTREAM_SILENCE_MS,
      watched: ['deps', 'lib', 'build'].map((name) => path.join(addon.folder, name)),
    });
    const library = await verify(addon);
    keep(addon, addon.folder);
    link(addon);
    return `TensorFlow.js ${addon.version}, native, by its own installer (${library})`;
  } catch (error) {
    unlink(addon);
    throw error;
  } finally {
    removeTree(path.join(addon.folder, 'build'));
    // The installer rewrites its own manifest while it runs.
    if (!readFileSync(manifest).equals(before)) writeFileSync(manifest, before);
  }
}

async function fromWheel(addon, log) {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(`there is a recipe for linux x64 only, this is ${process.platform} ${process.arch}`);
  }
  const work = path.join(addon.cacheRoot, `unfinished-${randomUUID()}`);
  try {
    for (const part of ['binding', 'binding.gyp', 'package.json']) {
      cpSync(path.join(addon.folder, part), path.join(work, part), { recursive: true });
    }
    log(`downloading the library (Python package ${WHEEL.requirement}, ${WHEEL.megabytes} MB)`);
    const python = await findPython();
    const wheel = await downloadWheel(python, path.join(work, 'wheel'));
    log('unpacking it');
    await unpackWheel(python, wheel, work);
    removeTree(path.join(work, 'wheel'));
    log('building the addon from its C++ sources');
    await buildAddon(addon, work);
    keep(addon, work);
    link(addon);
    return `TensorFlow.js ${addon.version}, native, built from source (${await verify(addon)})`;
  } catch (error) {
    unlink(addon);
    throw error;
  } finally {
    removeTree(work);
  }
}

async function findPython() {
  for (const python of ['python3', 'python']) {
    const works = await run(python, ['-m', 'pip', '--version'], { limitMs: 30_000 }).then(
      () => true,
      () => false,
    );
    if (works) return python;
  }
  throw new Error('no Python with pip was found (Debian and Ubuntu: apt-get install python3-pip)');
}

async function downloadWheel(python, folder) {
  mkdirSync(folder, { recursive: true });
  const requirements = path.join(folder, 'requirements.txt');
  writeFileSync(requirements, `${WHEEL.requirement} --hash=sha256:${WHEEL.sha256}\n`);
  await run(
    python,
    [
      ...['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary=:all:', '--require-hashes'],
      ...[
        '--platform',
        WHEEL.platform,
        '--python-version',
        '3.11',
        '--implementation',
        'cp',
        '--abi',
        'cp311',
      ],
      ...['--dest', folder, '--requirement', requirements],
    ],
    { limitMs: DOWNLOAD_LIMIT_MS },
  );
  const wheel = readdirSync(folder).find((name) => name.endsWith('.whl'));
  if (!wheel) throw new Error('pip ended well but left no wheel');
  return path.join(folder, wheel);
}

/** A wheel is a zip; Python, which pip and the build need anyway, streams it without holding 800 MB in memory. */
async function unpackWheel(python, wheel, work) {
  const library = path.join(work, 'deps', 'lib');
  const include = path.join(work, 'deps', 'include');
  const entries = [
    ...LIBRARIES.map((name) => [`tensorflow/${name}`, path.join(library, name)]),
    ...HEADERS.map((name) => [`tensorflow/include/${name}`, path.join(include, name)]),
  ];
  const script = [
    'import json, os, shutil, sys, zipfile',
    'with zipfile.ZipFile(sys.argv[1]) as wheel:',
    '    for entry, target in json.loads(sys.argv[2]):',
    '        os.makedirs(os.path.dirname(target), exist_ok=True)',
    '        with wheel.open(entry) as source, open(target, "wb") as out:',
    '            shutil.copyfileobj(source, out, 1 << 20)',
  ].join('\n');
  await run(python, ['-c', script, wheel, JSON.stringify(entries)], { limitMs: BUILD_LIMIT_MS });
  for (const [name, target] of Object.entries(LIBRARY_LINKS)) symlinkSync(target, path.join(library, name));
}

async function buildAddon(addon, work) {
  const preGyp = path.join(addon.root, 'node_modules', '@mapbox', 'node-pre-gyp', 'bin', 'node-pre-gyp');
  const env = { ...process.env };
  const prefix = path.dirname(path.dirname(realpathSync(process.execPath)));
  if (!env.npm_config_nodedir && existsSync(path.join(prefix, 'include', 'node', 'node_api.h'))) {
    env.npm_config_nodedir = prefix;
  }
  await run(process.execPath, [preGyp, 'install', '--build-from-source'], {
    cwd: work,
    env,
    limitMs: BUILD_LIMIT_MS,
  }).catch((error) => {
    const hint = 'a C++ toolchain is needed (Debian and Ubuntu: apt-get install build-essential python3)';
    throw new Error(`${firstLine(error)}; ${hint}`);
  });
}

/** Moves `deps` and `lib` from `folder` into the cache; the stamp goes in before the one rename that publishes them. */
function keep(addon, folder) {
  const staged = path.join(addon.cacheRoot, `unfinished-${randomUUID()}`);
  mkdirSync(staged);
  for (const part of ['deps', 'lib']) {
    const source = path.join(folder, part);
    try {
      renameSync(source, path.join(staged, part));
    } catch (error) {
      if (error.code !== 'EXDEV') throw error;
      cpSync(source, path.join(staged, part), { recursive: true, verbatimSymlinks: true });
      removeTree(source);
    }
  }
  writeFileSync(path.join(staged, 'lib', STAMP), `${JSON.stringify({ key: addon.key })}\n`);
  removeTree(addon.cached);
  renameSync(staged, addon.cached);
}

function link(addon) {
  unlink(addon);
  for (const part of ['deps', 'lib']) {
    symlinkSync(path.join(addon.cached, part), path.join(addon.folder, part), 'junction');
  }
}

function unlink(addon) {
  for (const part of ['deps', 'lib']) {
    const place = path.join(addon.folder, part);
    if (lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(place);
    else removeTree(place);
  }
}

/** Loads the addon in a process of its own and multiplies two matrices: a crash of the library can't take us with it. */
async function verify(addon) {
  const script = [
    "const util = require('node:util');",
    'util.isNullOrUndefined ??= (value) => value === null || value === undefined;',
    "const tf = require('@tensorflow/tfjs-node');",
    'const product = tf.matMul(tf.tensor2d([[1, 2]]), tf.tensor2d([[3], [4]])).dataSync()[0];',
    "if (tf.getBackend() !== 'tensorflow' || product !== 11) throw new Error('a product of matrices came out wrong');",
    "console.log('libtensorflow ' + tf.backend().binding.TF_Version);",
  ].join('\n');
  const output = await run(process.execPath, ['-e', script], {
    cwd: addon.root,
    env: { ...process.env, TF_CPP_MIN_LOG_LEVEL: '3' },
    limitMs: 120_000,
  });
  return output.split('\n').find((line) => line.startsWith('libtensorflow')) ?? 'libtensorflow';
}

/**
 * Runs a command and answers its standard output; rejects with the most telling line of its output. With `silenceMs`
 * it is ended when for so long it neither prints nor lets the `watched` folders grow.
 */
function run(command, args, { cwd, env, limitMs, silenceMs, watched = [] }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let output = '';
    let errors = '';
    let ended;
    let lastSign = Date.now();
    let lastSize = 0;
    const stop = (reason) => {
      ended = reason;
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        child.kill('SIGKILL');
      }
    };
    const limit = setTimeout(() => stop(`not done after ${limitMs / 1000} s`), limitMs);
    const watch =
      silenceMs &&
      setInterval(() => {
        const size = watched.reduce((sum, folder) => sum + folderBytes(folder), 0);
        if (size !== lastSize) lastSign = Date.now();
        lastSize = size;
        if (Date.now() - lastSign > silenceMs) stop(`no progress for ${silenceMs / 1000} s`);
      }, 500);
    // The child leads a process group of its own, so that its compilers end with it; Ctrl-C has to be passed on.
    const onExit = () => stop('interrupted');
    const onSignal = (signal) => {
      stop('interrupted');
      forget();
      process.kill(process.pid, signal);
    };
    const forget = () => {
      process.removeListener('exit', onExit);
      for (const signal of ['SIGINT', 'SIGTERM']) process.removeListener(signal, onSignal);
    };
    process.once('exit', onExit);
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, onSignal);
    child.stdout.on('data', (chunk) => ((output += chunk), (lastSign = Date.now())));
    child.stderr.on('data', (chunk) => ((errors += chunk), (lastSign = Date.now())));
    const settle = (failure) => {
      clearTimeout(limit);
      if (watch) clearInterval(watch);
      forget();
      if (failure) reject(new Error(failure));
      else resolve(output);
    };
    child.on('error', (error) =>
      settle(error.code === 'ENOENT' ? `${command} was not found` : error.message),
    );
    child.on('close', (code, signal) => {
      if (ended) settle(ended);
      else if (code !== 0) settle(tellingLine(errors || output) ?? `${command} ended with ${signal ?? code}`);
      else settle();
    });
  });
}

function tellingLine(text) {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
  const telling = [/^(\w*Error|ERROR|fatal error):/, /\b(fatal )?error:/i].map((sign) =>
    lines.find((line) => sign.test(line)),
  );
  return (telling[0] ?? telling[1] ?? lines.at(-1))?.slice(0, 200);
}

function folderBytes(folder) {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath ?? entry.path, entry.name)).size, 0);
  } catch {
    return 0;
  }
}

/** A lock file whose holder touches it; one that was not touched for 20 s belonged to a process that is gone. */
async function withLock(file, log, work) {
  const token = randomUUID();
  for (let told = false; ;) {
    try {
      writeFileSync(file, token, { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (isStale(file)) removeStale(file);
    else {
      if (!told) log('another process is installing native TensorFlow: waiting for it');
      told = true;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
  const beat = setInterval(() => {
    const now = new Date();
    try {
      utimesSync(file, now, now);
    } catch {
      // Someone removed the folder; the work itself will say so.
    }
  }, LOCK_BEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    if (existsSync(file) && readFileSync(file, 'utf8') === token) rmSync(file, { force: true });
  }
}

function isStale(file) {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.mtimeMs > LOCK_STALE_MS;
}

/** Of several waiters one rename wins; a lock that turns out to be fresh (taken in between) is put back. */
function removeStale(file) {
  const aside = `${file}.${randomUUID()}`;
  try {
    renameSync(file, aside);
    if (isStale(aside)) rmSync(aside, { force: true });
    else renameSync(aside, file);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}

const removeTree = (folder) => rmSync(folder, { recursive: true, force: true });

const firstLine = (error) => String(error?.message ?? error).split('\n')[0];

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
  const { outcome, detail } = await installNativeTensorflow({
    root,
    log: (line) => console.log(`  ${line}`),
  });
  console.log(`${outcome}: ${detail}`);
}
