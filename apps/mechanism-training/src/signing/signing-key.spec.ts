import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { signingKeyOf } from '@undertone/artifact';
import { signingKey, SigningKeyError } from './signing-key';

describe('signingKey', () => {
  let home: string;
  let file: string;
  beforeEach(() => {
    home = mkdtempSync(path.join(tmpdir(), 'undertone-keys-'));
    file = path.join(home, 'keys', 'mechanism-signing.json');
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  it('makes a key once, that only its owner can read, and keeps it', async () => {
    const key = await signingKey({ home });
    expect(key).toEqual(signingKeyOf(key.secretKey));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
    expect(await signingKey({ home })).toEqual(key);
    expect((await signingKey({ home: path.join(home, 'another') })).publicKey).not.toBe(key.publicKey);
  });

  it('is one key for all who make it at the same moment', async () => {
    const keys = await Promise.all(Array.from({ length: 8 }, () => signingKey({ home })));
    expect(new Set(keys.map(({ publicKey }) => publicKey)).size).toBe(1);
    expect(await signingKey({ home })).toEqual(keys[0]);
  });

  it('is the configured one where there is one', async () => {
    // RFC 8032, section 7.1, test 1.
    const secretKey = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60';
    expect(await signingKey({ home, secretKey })).toEqual({
      secretKey,
      publicKey: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    });
  });

  it('refuses a file that others can read', async () => {
    await signingKey({ home });
    chmodSync(file, 0o644);
    await expect(signingKey({ home })).rejects.toThrow(/can be read by others: run chmod 600/);
  });

  it.each(['', '{}', '{"secretKey": "c0ffee"}', 'not JSON c0ffee'])(
    'refuses a damaged file (%j) without showing it',
    async (text) => {
      mkdirSync(path.dirname(file));
      writeFileSync(file, text, { mode: 0o600 });
      const refused = await signingKey({ home }).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(SigningKeyError);
      expect((refused as Error).message).toMatch(/mechanism-signing\.json is damaged/);
      expect((refused as Error).message).not.toContain('c0ffee');
      expect(readFileSync(file, 'utf8')).toBe(text);
    },
  );

  it('refuses a key whose halves do not belong together', async () => {
    const key = await signingKey({ home });
    const other = await signingKey({ home: path.join(home, 'another') });
    writeFileSync(file, JSON.stringify({ ...key, publicKey: other.publicKey }));
    await expect(signingKey({ home })).rejects.toThrow(/is damaged/);
  });
});
