import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DataFolder, describeWriteFailure } from './data-folder';

describe('describeWriteFailure', () => {
  const failure = (code: string, message = code) => Object.assign(new Error(message), { code });

  it('tells a full disk from a closed folder, by code or by what a program said', () => {
    expect(describeWriteFailure(failure('ENOSPC'), '/data')).toMatchObject({
      code: 'disk-full',
      message: expect.stringContaining('/data'),
    });
    expect(
      describeWriteFailure(new Error('initdb: error: could not write: No space left on device'), '/d')?.code,
    ).toBe('disk-full');
    expect(describeWriteFailure(failure('EROFS'), '/data')?.code).toBe('data-folder-not-writable');
    expect(describeWriteFailure(new Error('could not create directory: Permission denied'), '/d')?.code).toBe(
      'data-folder-not-writable',
    );
  });

  it('leaves other errors to those who know them', () => {
    expect(describeWriteFailure(failure('EMFILE'), '/data')).toBeUndefined();
  });
});

describe('DataFolder', () => {
  let home: string;
  beforeEach(() => (home = mkdtempSync(path.join(tmpdir(), 'data-folder-'))));
  afterEach(() => rmSync(home, { recursive: true }));

  /** An initdb that says something and fails. */
  const initdb = (script: string) => {
    const program = path.join(home, 'initdb');
    writeFileSync(program, `#!/bin/sh\n${script}\n`);
    chmodSync(program, 0o755);
    return { initdb: program, postgres: '/bin/false', majorVersion: '18' };
  };
  const quiet = { durable: 'no', onNotice: () => undefined } as const;

  it('says that the disk is full when initdb says so, and leaves nothing half-made', async () => {
    const folder = new DataFolder(home);
    const binaries = initdb('echo "could not write to file: No space left on device" >&2; exit 1');
    await expect(folder.initialise(binaries, undefined, quiet)).rejects.toMatchObject({ code: 'disk-full' });
    expect(folder.isInitialised()).toBe(false);
  });

  it('repeats what initdb said when it fails in another way, or can not be run', async () => {
    const folder = new DataFolder(home);
    await expect(
      folder.initialise(initdb('echo "bad locale" >&2; exit 3'), undefined, quiet),
    ).rejects.toMatchObject({
      code: 'server-did-not-start',
      message: expect.stringContaining('bad locale'),
    });
    const absent = { ...initdb(''), initdb: path.join(home, 'absent') };
    await expect(folder.initialise(absent, undefined, quiet)).rejects.toThrow(
      /initdb could not make a database/,
    );
  });
});
