import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FolderLock } from './folder-lock';
import { isRunning, programOf, startOf } from './running-process';

describe('FolderLock', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'lock-'));
    file = path.join(folder, 'lock');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const taken = (): FolderLock => {
    const lock = FolderLock.take(file);
    if (lock instanceof FolderLock) return lock;
    throw new Error(`held by ${lock.heldBy}`);
  };
  const leftBy = (owner: { pid: number; start?: string }): void =>
    writeFileSync(file, JSON.stringify({ ...owner, token: 'another' }));

  it('is held by one, and free again after its release', () => {
    const lock = taken();
    expect(FolderLock.take(file)).toEqual({ heldBy: process.pid });
    lock.release();
    expect(existsSync(file)).toBe(false);
    taken().release();
  });

  it('names a running holder', () => {
    const other = spawn('sleep', ['30']);
    try {
      leftBy({ pid: other.pid!, start: startOf(other.pid!) });
      expect(FolderLock.take(file)).toEqual({ heldBy: other.pid });
    } finally {
      other.kill('SIGKILL');
    }
  });

  it('passes over the lock of a process that is gone', () => {
    const pid = Number(execFileSync('sh', ['-c', 'echo $$'], { encoding: 'utf8' }));
    leftBy({ pid });
    taken().release();
  });

  it('passes over a lock whose process number now belongs to another process', () => {
    leftBy({ pid: process.ppid, start: 'long ago' });
    taken().release();
  });

  it('passes over a lock with its own number from before a restart', () => {
    leftBy({ pid: process.pid, start: startOf(process.pid) });
    taken().release();
  });

  it('passes over a lock that was cut off while it was written', () => {
    writeFileSync(file, '{"pid":');
    taken().release();
  });

  it('does not take away the lock of a successor', () => {
    const lock = taken();
    leftBy({ pid: process.ppid, start: startOf(process.ppid) });
    lock.release();
    expect(FolderLock.take(file)).toEqual({ heldBy: process.ppid });
  });

  it('leaves nothing else in the folder', () => {
    leftBy({ pid: process.pid });
    const lock = taken();
    FolderLock.take(file);
    expect(readdirSync(folder)).toEqual(['lock']);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ pid: process.pid });
    lock.release();
  });
});

describe('a running process', () => {
  it('is told from one that is gone', () => {
    expect(isRunning(process.pid)).toBe(true);
    expect(isRunning(2 ** 22 + 1)).toBe(false);
    expect(startOf(2 ** 22 + 1)).toBeUndefined();
    expect(programOf(process.pid)).toMatch(/node|MainThread/);
  });
});
