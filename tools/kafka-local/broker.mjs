import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { asProperties } from './broker-settings.mjs';
import { command, lastLines } from './command.mjs';
import { aboutWriting, firstLine, KafkaLocalError } from './kafka-local-error.mjs';
import { commandLineOf, endsWithin, isRunning } from './running-process.mjs';
import { brokersSeenFrom } from './wire-probe.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const FORMAT_LIMIT_MS = 120_000;
const READY_LIMIT_MS = 120_000;
const STOP_GRACE_MS = 5_000;
const TAIL_BYTES = 16_384;
const SPARE_BYTES = 1_048_576;

// Half the start's time is saved by the first compiler alone; a long run at full speed wants both.
const JVM = {
  'quick-start': ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'],
  throughput: ['-XX:+UseG1GC'],
};
const JVM_ALWAYS = ['-XX:+ExitOnOutOfMemoryError', '-Xlog:disable', '-Xlog:all=error:stderr'];

/** One broker's folder and, while it runs, its process. */
export class Broker {
  #child;
  #endAsked = false;
  #logBegin = 0;

  /**
   * @param {{ id: number, port: number, folder: string, runtime: { java: string, classPath: string },
   *   jvm: { heapMegabytes: number, tunedFor: 'quick-start' | 'throughput', more?: string[] },
   *   guard: { watch(pid: number): void, forget(pid: number): void }, onUnexpectedEnd: (error: KafkaLocalError) => void }} setup
   */
  constructor({ id, port, folder, runtime, jvm, guard, onUnexpectedEnd }) {
    Object.assign(this, { id, port, folder });
    this.setup = { runtime, jvm, guard, onUnexpectedEnd };
    this.logFile = path.join(folder, 'broker.log');
    this.propertiesFile = path.join(folder, 'server.properties');
    this.pidFile = path.join(folder, 'pid');
  }

  get pid() {
    return this.#child?.pid;
  }

  get isRunning() {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  configure(settings) {
    mkdirSync(this.folder, { recursive: true });
    writeFileSync(this.propertiesFile, asProperties(settings));
  }

  /** Kafka's own tool writes the cluster's id and the feature levels; a folder that has them is left alone. */
  async format(clusterId) {
    if (existsSync(path.join(this.folder, 'data', 'meta.properties'))) return;
    const { java, classPath } = this.setup.runtime;
    const jvm = [...JVM['quick-start'], ...JVM_ALWAYS, ...(this.setup.jvm.more ?? []).filter(isArchiveUse)];
    const tool = ['kafka.tools.StorageTool', 'format', '--ignore-formatted', '-t', clusterId];
    try {
      await command(java, [...jvm, logging(), '-cp', classPath, ...tool, '-c', this.propertiesFile], {
        limitMs: FORMAT_LIMIT_MS,
      });
    } catch (error) {
      const known = aboutWriting(error, this.folder);
      if (known !== error) throw known;
      throw new KafkaLocalError(
        'broker-ended',
        `the data folder of node ${this.id} could not be made: ${firstLine(error)}`,
        { cause: error },
      );
    }
  }

  /** Ends a process that an earlier start on this folder left behind. @returns its id, or undefined */
  async endOrphan() {
    const pid = existsSync(this.pidFile) ? Number(readFileSync(this.pidFile, 'utf8')) : 0;
    if (!Number.isInteger(pid) || pid <= 1 || !isRunning(pid)) return undefined;
    // The number may be another process's by now.
    if (!commandLineOf(pid)?.includes(this.propertiesFile)) return undefined;
    process.kill(pid, 'SIGTERM');
    if (!(await endsWithin(pid, STOP_GRACE_MS))) {
      process.kill(pid, 'SIGKILL');
      await endsWithin(pid, STOP_GRACE_MS);
    }
    return pid;
  }

  launch() {
    const { runtime, jvm, guard, onUnexpectedEnd } = this.setup;
    const log = openSync(this.logFile, 'a');
    try {
      this.#logBegin = fstatSync(log).size;
      this.#endAsked = false;
      const child = spawn(
        runtime.java,
        [
          `-Xmx${jvm.heapMegabytes}m`,
          ...JVM[jvm.tunedFor],
          ...JVM_ALWAYS,
          ...(jvm.more ?? []),
          logging(),
          ...['-cp', runtime.classPath, 'kafka.Kafka', this.propertiesFile],
        ],
        // A group of its own: a terminal's Ctrl-C is for the launcher, which then ends the brokers in order.
        { stdio: ['ignore', log, log], detached: true, cwd: this.folder },
      );
      this.#child = child;
      child.once('error', () => undefined);
      child.once('exit', () => {
        guard.forget(child.pid);
        if (!this.#endAsked && child === this.#child) onUnexpectedEnd(this.#endError());
      });
      if (child.pid === undefined) throw new KafkaLocalError('java-missing', `${runtime.java} can't be run`);
      guard.watch(child.pid);
      // The guard ends the broker with this process, so neither needs to keep this process alive.
      child.unref();
      writeFileSync(this.pidFile, String(child.pid));
    } finally {
      closeSync(log);
    }
  }

  /**
   * Resolves when this broker answers and sees all of `ids` alive.
   * @throws KafkaLocalError 'broker-ended' | 'port-in-use' | 'disk-full' | 'folder-not-writable' | 'broker-not-ready'
   */
  async ready(ids) {
    await this.until(`a broker that sees ${ids.length} alive`, async () => {
      const seen = await brokersSeenFrom(this.port);
      return ids.every((id) => seen.includes(id));
    });
  }

  /** Asks again and again, as long as the broker runs. */
  async until(what, test) {
    const deadline = Date.now() + READY_LIMIT_MS;
    for (let last = 'not yet'; ;) {
      if (!this.isRunning) throw this.#endError();
      try {
        if (await test()) return;
      } catch (error) {
        last = firstLine(error);
      }
      if (Date.now() > deadline) {
        throw new KafkaLocalError(
          'broker-not-ready',
          `waited ${READY_LIMIT_MS / 1000} s in vain for ${what} on node ${this.id} (${last}); its log is ${this.logFile}`,
        );
      }
      await wait(50);
    }
  }

  /** Resolves when the process is gone. A clean stop gets 5 s: without its quorum a node would wait for minutes. */
  async end(signal, graceMs = STOP_GRACE_MS) {
    if (!this.isRunning) return;
    const child = this.#child;
    this.#endAsked = true;
    child.ref();
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    const grace = setTimeout(() => child.kill('SIGKILL'), graceMs);
    await gone;
    clearTimeout(grace);
  }

  #endError() {
    const tail = this.#logTail();
    const known = aboutWriting(new Error(telling(tail)), this.folder);
    if (known instanceof KafkaLocalError) return known;
    // A full disk takes no message about itself.
    if (freeBytes(this.folder) < SPARE_BYTES) return aboutWriting(new Error('ENOSPC'), this.folder);
    const how = this.#child?.signalCode ?? `exit code ${this.#child?.exitCode}`;
    if (/Address already in use/i.test(tail)) {
      return new KafkaLocalError('port-in-use', `a port of node ${this.id} is taken by another program`);
    }
    return new KafkaLocalError(
      'broker-ended',
      `node ${this.id} ended by itself (${how}): ${lastLines(telling(tail) || tail, 3) || 'it said nothing'}; its log is ${this.logFile}`,
    );
  }

  /** What this run wrote last. */
  #logTail() {
    const log = openSync(this.logFile, 'r');
    try {
      const { size } = fstatSync(log);
      const begin = Math.max(this.#logBegin, size - TAIL_BYTES);
      const bytes = Buffer.alloc(Math.max(0, size - begin));
      readSync(log, bytes, 0, bytes.length, begin);
      return bytes.toString();
    } finally {
      closeSync(log);
    }
  }
}

const logging = () => `-Dlog4j2.configurationFile=${path.join(here, 'log4j2.properties')}`;
function freeBytes(folder) {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

const isArchiveUse = (option) => option.startsWith('-XX:SharedArchiveFile=');

const telling = (text) =>
  text
    .split('\n')
    .filter((line) => /\b(ERROR|FATAL)\b|Exception|^Error/.test(line) && !/^\s+at /.test(line))
    .join('\n');
