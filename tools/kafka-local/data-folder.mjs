import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { aboutWriting, KafkaLocalError } from './kafka-local-error.mjs';
import { makeFolder } from './make-folder.mjs';
import { takeLock } from './process-lock.mjs';

/** 16 random bytes in base64url, as Kafka wants it; the tools take one that begins with `-` for an option. */
export const newClusterId = () => `A${randomBytes(16).toString('base64url').slice(1)}`;

/** The folder of one cluster: what lies in it, and that nobody else uses it. */
export class DataFolder {
  constructor(folder, lock, state) {
    this.path = folder;
    this.lock = lock;
    this.state = state;
  }

  /**
   * Makes the folder where it is missing and reads what an earlier start left there.
   * @throws KafkaLocalError 'folder-in-use' | 'folder-of-other-size' | 'folder-not-writable' | 'disk-full'
   */
  static open(folder, size) {
    const lock = tryWriting(folder, () => {
      makeFolder(folder);
      return takeLock(path.join(folder, 'launcher.lock'));
    });
    if ('heldBy' in lock) {
      throw new KafkaLocalError(
        'folder-in-use',
        `the brokers in ${folder} belong to process ${lock.heldBy}, which is running: stop that one or name another --folder`,
      );
    }
    const file = path.join(folder, 'cluster.json');
    const state = existsSync(file)
      ? JSON.parse(readFileSync(file, 'utf8'))
      : { clusterId: newClusterId(), nodes: Array.from({ length: size }, (_, i) => ({ id: i + 1 })) };
    if (state.nodes.length !== size) {
      lock.release();
      throw new KafkaLocalError(
        'folder-of-other-size',
        `${folder} holds a cluster of ${state.nodes.length}, not of ${size}: name another --folder, or remove this one to begin anew`,
      );
    }
    return new DataFolder(folder, lock, state);
  }

  nodeFolder(id) {
    return path.join(this.path, `node-${id}`);
  }

  save() {
    tryWriting(this.path, () => {
      const draft = path.join(this.path, 'cluster.json.new');
      writeFileSync(draft, `${JSON.stringify(this.state, null, 2)}\n`);
      renameSync(draft, path.join(this.path, 'cluster.json'));
    });
  }

  release() {
    this.lock.release();
  }

  discard() {
    rmSync(this.path, { recursive: true, force: true });
  }
}

function tryWriting(folder, work) {
  try {
    return work();
  } catch (error) {
    throw aboutWriting(error, folder);
  }
}
