import { type IncomingMessage } from 'node:http';
import { PayloadTooLargeException } from '@nestjs/common';

/**
 * The bytes of a request's body, once they are there. A body above the limit is refused with Nest's own error, by its announced
 * length before anything is read; one that ends too early is refused with the connection's error.
 *
 * @param limit bytes
 */
export function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(request.headers['content-length']) > limit)
    return Promise.reject(new PayloadTooLargeException());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      if ((length += chunk.length) <= limit) return;
      request.off('data', onData);
      request.pause();
      reject(new PayloadTooLargeException());
    };
    request.on('data', onData);
    request.once('end', () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
    request.once('error', reject);
  });
}
