import { LdpError } from '../ldp-error';
import type { RandomSource } from './random-source';

const BUFFER_BYTES = 8192;
/** The most that one call of getRandomValues may ask for (W3C Web Cryptography API). */
const CALL_BYTES = 65536;

/**
 * The platform's cryptographic generator (`globalThis.crypto.getRandomValues`), read ahead in blocks: a report
 * takes some 70 bytes and a call costs more than the bytes do. Bytes are wiped as they are handed out, so that
 * noise can't be read back from memory later.
 *
 * @throws LdpError `no-random-source` where the platform has no Web Crypto: there is no weaker fallback.
 */
export class WebCryptoRandom implements RandomSource {
  private readonly crypto: typeof globalThis.crypto;
  private readonly buffer = new Uint8Array(BUFFER_BYTES);
  private position = BUFFER_BYTES;

  constructor() {
    const { crypto } = globalThis;
    if (typeof crypto?.getRandomValues !== 'function') {
      throw new LdpError(
        'no-random-source',
        'globalThis.crypto.getRandomValues is missing: a report can only be randomised where the platform has a cryptographic generator',
      );
    }
    this.crypto = crypto;
  }

  fill(bytes: Uint8Array): void {
    if (bytes.length > BUFFER_BYTES) return this.fillUnbuffered(bytes);
    if (bytes.length > BUFFER_BYTES - this.position) {
      this.crypto.getRandomValues(this.buffer);
      this.position = 0;
    }
    const end = this.position + bytes.length;
    bytes.set(this.buffer.subarray(this.position, end));
    this.buffer.fill(0, this.position, end);
    this.position = end;
  }

  private fillUnbuffered(bytes: Uint8Array): void {
    for (let start = 0; start < bytes.length; start += CALL_BYTES) {
      // A fresh array: getRandomValues refuses views of shared memory.
      const block = new Uint8Array(Math.min(CALL_BYTES, bytes.length - start));
      this.crypto.getRandomValues(block);
      bytes.set(block, start);
    }
  }
}
