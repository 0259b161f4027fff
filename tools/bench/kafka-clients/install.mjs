// Installs a client for the benchmark into the cache folder of the set-up, a folder each. None is a dependency of the project.
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const STAMP = 'undertone-client.json';
const INSTALL_LIMIT_MS = 20 * 60_000;
const HEADERS = {
  'curl/curl.h': 'libcurl4-openssl-dev',
  'openssl/ssl.h': 'libssl-dev',
  'zlib.h': 'zlib1g-dev',
};

/**
 * Puts a client in place, from the cache where it is there. A native client takes minutes the first time: it is compiled
 * at the lowest priority.
 *
 * @param {import('./clients.mjs').Client} client
 * @param {{ root: string, log: (line: string) => void }} options root: the project's folder
 * @returns {Promise<{ folder: string, mebibytes: number, buildSeconds?: number } | { unavailable: string }>} folder: where
 *   `node_modules` with the client lies; unavailable: why it can't be had here, in a line
 */
export async function installClient(client, { root, log }) {
  if (client.own) return { folder: root, mebibytes: mebibytesOf(moduleFolder(root, client)) };
  const cache = process.env.UNDERTONE_CACHE_DIR || path.join(os.homedir(), '.cache', 'undertone');
  const folder = path.join(cache, 'kafka-clients', keyOf(client));
  try {
    if (!existsSync(path.join(folder, STAMP))) await installInto(folder, client, log);
    return { folder, ...JSON.parse(readFileSync(path.join(folder, STAMP), 'utf8')) };
  } catch (error) {
    return { unavailable: error.message };
  }
}

/** Where the package of an installed client lies. */
export const moduleFolder = (folder, client) =>
  path.join(folder, 'node_modules', ...client.package.split('/'));

function keyOf({ name, version, builtFromSource }) {
  const system = builtFromSource
    ? `-node${process.versions.modules}-${process.platform}-${process.arch}`
    : '';
  return `${name}-${version}${system}`;
}

async function installInto(folder, client, log) {
  const unfinished = path.join(path.dirname(folder), `unfinished-${randomUUID()}`);
  mkdirSync(unfinished, { recursive: true });
  const remove = () => rmSync(unfinished, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    const began = performance.now();
    const wanted = `${client.package}@${client.version}`;
    log(`installing ${wanted}${client.builtFromSource ? ', compiled here: some minutes' : ''}`);
    const manifest = { private: true, allowScripts: { [client.package]: true } };
    writeFileSync(path.join(unfinished, 'package.json'), JSON.stringify(manifest));
    const args = ['install', wanted, '--no-audit', '--no-fund', '--loglevel=error'];
    if (client.builtFromSource)
      await command('nice', ['-n', '19', 'npm', ...args], unfinished, await buildSettings(unfinished));
    else await command('npm', [...args, '--ignore-scripts'], unfinished, {});
    await load(unfinished, client);
    const facts = {
      mebibytes: mebibytesOf(path.join(unfinished, 'node_modules')),
      ...(client.builtFromSource ? { buildSeconds: Math.round((performance.now() - began) / 1000) } : {}),
    };
    writeFileSync(path.join(unfinished, STAMP), JSON.stringify(facts));
    renameSync(unfinished, folder);
  } finally {
    process.removeListener('exit', remove);
    remove();
  }
}

/** A package can be there and still not run on this Node or this system. */
const load = (folder, client) =>
  command(process.execPath, ['--input-type=module', '-e', `await import('${client.package}')`], folder, {});

async function buildSettings(folder) {
  const node = path.resolve(process.execPath, '..', '..');
  const withHeaders = existsSync(path.join(node, 'include', 'node', 'node.h'));
  return {
    // The package's default links libraries that it would download; this links those of the system.
    CKJS_LINKING: 'dynamic',
    npm_config_build_from_source: 'true',
    ...(withHeaders ? { npm_config_nodedir: node } : {}),
    ...(await missingHeaders(folder)),
  };
}

/** Headers of the system's own libraries that nobody installed, unpacked beside the client instead of into the system. */
async function missingHeaders(folder) {
  const packages = Object.entries(HEADERS)
    .filter(([header]) => !compiles(`#include <${header}>\n`))
    .map(([, name]) => name);
  if (packages.length === 0) return {};
  const place = path.join(folder, 'headers');
  mkdirSync(place);
  try {
    await command('apt-get', ['download', ...packages], place, {});
    const files = readdirSync(place).filter((name) => name.endsWith('.deb'));
    for (const file of files) await command('dpkg', ['-x', file, '.'], place, {});
  } catch (error) {
    throw new Error(`it is compiled here and needs ${packages.join(', ')}: ${error.message}`);
  }
  const triplet = spawnSync('cc', ['-print-multiarch'], { encoding: 'utf8' }).stdout.trim();
  const libraries = path.join(place, 'usr', 'lib', triplet);
  linkToSystem(libraries, path.join('/usr/lib', triplet));
  const includes = [path.join(place, 'usr', 'include'), path.join(place, 'usr', 'include', triplet)];
  return { CPATH: includes.join(':'), LIBRARY_PATH: libraries };
}

/** In a package of headers `libx.so` is a link to the library's version beside it, which is the system's. */
function linkToSystem(folder, system) {
  for (const name of readdirSync(folder)) {
    const link = path.join(folder, name);
    if (!lstatSync(link).isSymbolicLink() || existsSync(link)) continue;
    const library = path.join(system, path.basename(readlinkSync(link)));
    rmSync(link);
    symlinkSync(library, link);
  }
}

function compiles(source) {
  const run = spawnSync('cc', ['-E', '-', '-o', os.devNull], { input: source });
  if (run.error) throw new Error(`it is compiled here, and there is no C compiler (${run.error.message})`);
  return run.status === 0;
}

function command(name, args, cwd, settings) {
  const { JOBS: _, ...environment } = process.env; // in parallel the build of librdkafka fails
  return new Promise((resolve, reject) => {
    const child = spawn(name, args, {
      cwd,
      env: { ...environment, ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: INSTALL_LIMIT_MS,
    });
    const stop = () => child.kill();
    process.once('exit', stop);
    let told = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data) => (told = (told + data).slice(-20_000)));
    child.once('error', (error) => reject(new Error(`${name} can't be started (${error.message})`)));
    child.once('close', (code) => {
      process.removeListener('exit', stop);
      if (code === 0) resolve();
      else reject(new Error(`${name} ended with ${code ?? 'a time-out'}: ${tellingLine(told)}`));
    });
  });
}

/** The first line that names an error, else the last one. */
function tellingLine(text) {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return (lines.find((line) => /\berror\b|^E:|ERR_/i.test(line)) ?? lines.at(-1) ?? 'it said nothing').trim();
}

function mebibytesOf(folder) {
  const bytes = (place) =>
    readdirSync(place, { withFileTypes: true }).reduce((sum, entry) => {
      const name = path.join(place, entry.name);
      return sum + (entry.isDirectory() ? bytes(name) : lstatSync(name).size);
    }, 0);
  return Math.round(bytes(folder) / 2 ** 20);
}
