import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { platformAddress, withAddress } from './platform-address';

describe('the address that a platform leaves in its home', () => {
  let home: string;
  beforeEach(() => (home = mkdtempSync(path.join(tmpdir(), 'undertone address ε-'))));
  afterEach(() => rmSync(home, { recursive: true, force: true }));
  const left = (text: string) => writeFileSync(path.join(home, 'up.json'), text);

  it('is there while the platform serves, and gone after it', async () => {
    const url = 'http://127.0.0.1:8377';
    await withAddress(home, url, async () => {
      expect(platformAddress(home)).toEqual({ url, pid: process.pid, state: 'running' });
    });
    expect(platformAddress(home)).toBeUndefined();
  });

  it('says that its platform is gone once that was killed', () => {
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    left(JSON.stringify({ url: 'http://127.0.0.1:8377', pid }));
    expect(platformAddress(home)).toMatchObject({ pid, state: 'gone' });
  });

  it.each(['', '{"url":"http', '{}', '{"url":"nowhere","pid":1}'])(
    'is as if it were not there where it reads %j',
    (text) => {
      left(text);
      expect(platformAddress(home)).toBeUndefined();
    },
  );

  it('of another platform that shares the home outlives this one', async () => {
    const other = { url: 'http://127.0.0.1:9000', pid: process.ppid };
    await withAddress(home, 'http://127.0.0.1:8377', async () => left(JSON.stringify(other)));
    expect(platformAddress(home)).toMatchObject(other);
  });
});
