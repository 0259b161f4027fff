import { spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { aboutCache, cacheFolder, openCache } from './cache.mjs';
import { command } from './command.mjs';
import { firstLine, KafkaLocalError } from './kafka-local-error.mjs';
import { withLock } from './process-lock.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const LIST = path.join(here, 'jars.sha256');
const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
const DOWNLOAD_LIMIT_MS = 900_000;

/** The broker's jars with their SHA-256, in the order of the class path. */
const wanted = readFileSync(LIST, 'utf8')
  .trim()
  .split('\n')
  .map((line) => ({ sha256: line.slice(0, 64), name: line.slice(64).trim() }));

const sha256 = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');

/** Named by the list, so another set of jars is another folder. */
const jarFolder = () => path.join(cacheFolder(), `kafka-4.4.0-${sha256(LIST).slice(0, 12)}`);

const classPathIn = (folder) => wanted.map(({ name }) => path.join(folder, name)).join(path.delimiter);

/** The first jar that is missing or isn't what the list says, or undefined. */
const faultIn = (folder) =>
  wanted.find(
    ({ name, sha256: expected }) =>
      !existsSync(path.join(folder, name)) || sha256(path.join(folder, name)) !== expected,
  )?.name;

/** True when all of them lie in the cache, whole or not. */
export const jarsAreThere = () => existsSync(jarFolder());

export const findMaven = () => spawnSync('mvn', ['--help'], { timeout: 60_000 }).error === undefined;

export const MAVEN_REMEDY =
  'install Maven (Debian and Ubuntu: apt-get install maven), which fetches the broker, and start again';

/**
 * The class path of a whole set of jars, fetched by Maven where it isn't yet.
 * @returns {Promise<{ folder: string, classPath: string }>}
 * @throws KafkaLocalError 'maven-missing' | 'not-fetched' | 'disk-full' | 'folder-not-writable'
 */
export async function ensureJars(java, log) {
  const folder = jarFolder();
  const whole = { folder, classPath: classPathIn(folder) };
  if (existsSync(folder) && faultIn(folder) === undefined) return whole;
  const cache = openCache();
  return await withLock(path.join(cache, 'kafka-jars.lock'), log, async () => {
    const fault = existsSync(folder) ? faultIn(folder) : '';
    if (fault === undefined) return whole;
    if (fault !== '') log(`${path.join(folder, fault)} is damaged: fetching the jars again`);
    await fetchJars(java, cache, folder, log);
    return whole;
  });
}

async function fetchJars(java, cache, folder, log) {
  if (!findMaven()) {
    throw new KafkaLocalError('maven-missing', `the jars of Kafka are not in ${cache}: ${MAVEN_REMEDY}`);
  }
  log('fetching Kafka 4.4.0 (45 jars, 43 MB) by Maven');
  const staged = path.join(cache, `unfinished-kafka-jars-${randomUUID()}`);
  try {
    mkdirSync(staged);
    // -C: a wrong checksum ends it.
    const options = ['-q', '-B', '-ntp', '-C', '-f', path.join(here, 'pom.xml')];
    await command('mvn', [...options, PLUGIN, `-DoutputDirectory=${staged}`, '-DincludeScope=runtime'], {
      cwd: staged,
      env: java.home === undefined ? process.env : { ...process.env, JAVA_HOME: java.home },
      limitMs: DOWNLOAD_LIMIT_MS,
    });
    const fault = faultIn(staged);
    if (fault !== undefined) {
      throw new Error(
        `${fault} is not the file that tools/kafka-local/jars.sha256 names; if Maven's own store (~/.m2/repository) holds a damaged one, remove it there`,
      );
    }
    rmSync(folder, { recursive: true, force: true });
    renameSync(staged, folder);
  } catch (error) {
    const known = aboutCache(error);
    if (known !== error) throw known;
    throw new KafkaLocalError(
      'not-fetched',
      `Kafka could not be fetched by Maven (${firstLine(error)}): see that mvn reaches its repository, and start again`,
      { cause: error },
    );
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}
