import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

import { isRunning, startOf } from './running-process.mjs';

// A container gives the same process number after a restart, so one's own number alone proves nothing.
const tokensHeldHere = new Set();

/**
 * A lock file names the process that holds it; the lock of a process that is gone counts for nothing.
 * @returns {{ release: () => void } | { heldBy: number }}
 */
export function takeLock(file) {
  const owner = { pid: process.pid, start: startOf(process.pid), token: randomUUID() };
  const draft = `${file}.${owner.token}`;
  try {
    writeFileSync(draft, JSON.stringify(owner));
    for (;;) {
      try {
        linkSync(draft, file); // fails when there is one; a rename would replace it
        tokensHeldHere.add(owner.token);
        return { release: () => release(file, owner.token) };
      } catch (error) {
        if (error.code !== 'EEXIST') throw error;
      }
      const text = read(file);
      if (text === undefined) continue;
      const holder = parse(text);
      if (holder !== undefined && holds(holder)) return { heldBy: holder.pid };
      discard(file, text);
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Runs `work` alone among all processes that name this lock file; says once whom it waits for. */
export async function withLock(file, log, work) {
  let lock = takeLock(file);
  if ('heldBy' in lock) log(`waiting for process ${lock.heldBy}, which prepares the same (${file})`);
  while ('heldBy' in lock) {
    await wait(200);
    lock = takeLock(file);
  }
  try {
    return await work();
  } finally {
    lock.release();
  }
}

function release(file, token) {
  tokensHeldHere.delete(token);
  const text = read(file);
  if (text !== undefined && parse(text)?.token === token) rmSync(file, { force: true });
}

function holds(owner) {
  if (owner.pid === process.pid) return tokensHeldHere.has(owner.token);
  if (!isRunning(owner.pid)) return false;
  const start = startOf(owner.pid);
  return owner.start === undefined || start === undefined || owner.start === start;
}

/** Removes a lock that was read as `text`; one that another process took in between is put back. */
function discard(file, text) {
  const aside = `${file}.${randomUUID()}`;
  try {
    renameSync(file, aside);
    if (read(aside) !== text) linkSync(aside, file);
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes(error.code)) throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function parse(text) {
  try {
    const owner = JSON.parse(text);
    return Number.isInteger(owner.pid) ? owner : undefined;
  } catch {
    return undefined;
  }
}
