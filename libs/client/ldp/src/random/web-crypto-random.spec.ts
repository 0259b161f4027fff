import { WebCryptoRandom } from './web-crypto-random';

describe('WebCryptoRandom', () => {
  const platform = Object.getOwnPropertyDescriptor(globalThis, 'crypto')!;
  const replaceCrypto = (value: unknown) =>
    Object.defineProperty(globalThis, 'crypto', { value, configurable: true });
  afterEach(() => Object.defineProperty(globalThis, 'crypto', platform));

  it('never hands out the same bytes twice, across blocks and odd sizes', () => {
    const random = new WebCryptoRandom();
    const seen = new Set<string>();
    for (let i = 0; i < 2000; i++) {
      const bytes = new Uint8Array(17 + (i % 50));
      random.fill(bytes);
      seen.add(Buffer.from(bytes.subarray(0, 17)).toString('hex'));
    }
    expect(seen.size).toBe(2000);
  });

  it('fills every byte, in order of the generator, in calls of at most 65,536 bytes', () => {
    let next = 0;
    const sizes: number[] = [];
    replaceCrypto({
      getRandomValues(bytes: Uint8Array) {
        sizes.push(bytes.length);
        for (let i = 0; i < bytes.length; i++) bytes[i] = 1 + (next++ % 251);
      },
    });
    const random = new WebCryptoRandom();
    for (const size of [0, 3, 8192, 200_000, 5000, 5000]) {
      const bytes = new Uint8Array(size);
      random.fill(bytes);
      expect(bytes.every((byte) => byte !== 0)).toBe(true);
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(65_536);
  });

  it('refuses to start without a cryptographic generator', () => {
    replaceCrypto(undefined);
    expect(() => new WebCryptoRandom()).toThrow(expect.objectContaining({ code: 'no-random-source' }));
  });
});
