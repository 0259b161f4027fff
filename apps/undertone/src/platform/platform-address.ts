import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Where a platform of a home answers, or answered before it was killed. */
export interface PlatformAddress {
  url: string;
  pid: number;
  state: 'running' | 'gone';
}

const addressFile = (home: string): string => path.join(home, 'up.json');

/** What `undertone up` left in the home; undefined where no platform was started, or the last one stopped in order. */
export function platformAddress(home: string): PlatformAddress | undefined {
  try {
    const { url, pid } = JSON.parse(readFileSync(addressFile(home), 'utf8')) as PlatformAddress;
    if (!URL.canParse(url) || !Number.isInteger(pid)) return undefined;
    return { url, pid, state: isRunning(pid) ? 'running' : 'gone' };
  } catch {
    // Not there, or cut short by a full disk: either way there is nothing to go by.
    return undefined;
  }
}

/** Leaves the address in the home while `work` goes on, for the other commands. */
export async function withAddress(home: string, url: string, work: () => Promise<void>): Promise<void> {
  const file = addressFile(home);
  mkdirSync(home, { recursive: true });
  writeFileSync(`${file}.part`, `${JSON.stringify({ url, pid: process.pid })}\n`);
  renameSync(`${file}.part`, file);
  try {
    await work();
  } finally {
    // Two platforms on one DATABASE_URL may share a home: the address of the other one stays.
    if (platformAddress(home)?.pid === process.pid) rmSync(file, { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (e) {
    return (e as NodeJS.ErrnoException).code === 'EPERM';
  }
}
