import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isRunning, startOf } from './running-process';

interface Owner {
  pid: number;
  start?: string;
  token: string;
}

/** A lock file names the process that holds it; the lock of a process that is gone counts for nothing. */
export class FolderLock {
  private constructor(
    private readonly file: string,
    private readonly token: string,
  ) {}

  /** @returns the lock, or the number of the running process that holds it. */
  static take(file: string): FolderLock | { heldBy: number } {
    const owner: Owner = { pid: process.pid, start: startOf(process.pid), token: randomUUID() };
    const draft = `${file}.${owner.token}`;
    writeFileSync(draft, JSON.stringify(owner), { mode: 0o644 });
    try {
      for (;;) {
        try {
          linkSync(draft, file); // fails when there is one; a rename would replace it
          tokensHeldHere.add(owner.token);
          return new FolderLock(file, owner.token);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        }
        const text = readIfThere(file);
        if (text === undefined) continue;
        const holder = parse(text);
        if (holder !== undefined && holds(holder)) return { heldBy: holder.pid };
        discard(file, text);
      }
    } finally {
      rmSync(draft, { force: true });
    }
  }

  release(): void {
    tokensHeldHere.delete(this.token);
    const text = readIfThere(this.file);
    if (text !== undefined && parse(text)?.token === this.token) rmSync(this.file, { force: true });
  }
}

// A container gives the same process number after a restart, so one's own number alone proves nothing.
const tokensHeldHere = new Set<string>();

function holds(owner: Owner): boolean {
  if (owner.pid === process.pid) return tokensHeldHere.has(owner.token);
  if (!isRunning(owner.pid)) return false;
  const start = startOf(owner.pid);
  return owner.start === undefined || start === undefined || owner.start === start;
}

/** Removes a lock that was read as `text`; one that another process took in between is put back. */
function discard(file: string, text: string): void {
  const aside = `${file}.${randomUUID()}`;
  try {
    renameSync(file, aside);
    if (readFileSync(aside, 'utf8') !== text) linkSync(aside, file);
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function parse(text: string): Owner | undefined {
  try {
    const owner = JSON.parse(text) as Owner;
    return Number.isInteger(owner.pid) ? owner : undefined;
  } catch {
    return undefined;
  }
}
