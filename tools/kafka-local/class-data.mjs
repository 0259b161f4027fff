import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { Broker } from './broker.mjs';
import { brokerSettings } from './broker-settings.mjs';
import { cacheFolder } from './cache.mjs';
import { newClusterId } from './data-folder.mjs';
import { startGuard } from './guard.mjs';
import { firstLine } from './kafka-local-error.mjs';
import { freePorts } from './ports.mjs';
import { withLock } from './process-lock.mjs';

/**
 * An archive of the broker's loaded classes, which halves its start. Made once for a Java and a set of jars by a broker that is
 * thrown away (10 to 20 s); never a reason to fail.
 * @returns {Promise<string | undefined>}
 */
export async function ensureClassData(java, jars, log) {
  const key = createHash('sha256').update(`${java.program} ${java.version}`).digest('hex').slice(0, 12);
  const file = path.join(jars.folder, `classes-${key}.jsa`);
  const inVain = `${file}.unavailable`;
  if (existsSync(file)) return file;
  if (existsSync(inVain)) return undefined;
  try {
    return await withLock(path.join(cacheFolder(), 'kafka-classes.lock'), log, async () => {
      if (existsSync(file)) return file;
      if (existsSync(inVain)) return undefined;
      log('making an archive of the broker’s classes, once: later starts take half the time');
      const draft = path.join(cacheFolder(), `unfinished-kafka-classes-${randomUUID()}`);
      try {
        await recordClasses(java, jars, draft);
        if (!existsSync(draft)) throw new Error('this Java wrote none');
        renameSync(draft, file);
        return file;
      } catch (error) {
        rmSync(draft, { force: true });
        log(`no archive of classes (${firstLine(error)}); brokers start a little slower`);
        writeFileSync(inVain, `${firstLine(error)}\n`);
        return undefined;
      }
    });
  } catch {
    return undefined; // a cache that can only be read
  }
}

async function recordClasses(java, jars, file) {
  const folder = mkdtempSync(path.join(tmpdir(), 'undertone-kafka-classes-'));
  const guard = startGuard(folder);
  try {
    const [port, controllerPort] = await freePorts(2);
    const broker = new Broker({
      id: 1,
      port,
      folder,
      runtime: { java: java.program, classPath: jars.classPath },
      jvm: {
        heapMegabytes: 384,
        tunedFor: 'quick-start',
        more: [`-XX:ArchiveClassesAtExit=${file}`],
      },
      guard,
      onUnexpectedEnd: () => undefined,
    });
    broker.configure(brokerSettings({ id: 1, nodes: [{ id: 1, port, controllerPort }], folder }));
    await broker.format(newClusterId());
    broker.launch();
    await broker.ready([1]);
    await broker.end('SIGTERM', 60_000);
  } finally {
    guard.done();
    rmSync(folder, { recursive: true, force: true });
  }
}
