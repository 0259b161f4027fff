import { PayloadTooLargeException } from '@nestjs/common';
import { type FastifyRequest } from 'fastify';

/**
 * Puts the bytes of a request's body into it, once they are there. A body above the limit is refused with Nest's own error, by its
 * announced length before anything is read; one that ends too early is refused with the connection's error.
 *
 * Nothing else holds the bytes afterwards: they are free where the handler takes them out of the request.
 *
 * @param limit bytes
 */
export function readBody(request: FastifyRequest, limit: number): Promise<void> {
  const { raw } = request;
  if (Number(raw.headers['content-length']) > limit) return Promise.reject(new PayloadTooLargeException());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      if ((length += chunk.length) <= limit) return;
      raw.off('data', onData);
      raw.pause();
      reject(new PayloadTooLargeException());
    };
    raw.on('data', onData);
    raw.once('end', () => {
      request.body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, length);
      // The listeners stay, and would hold them, until the request is answered.
      chunks.length = 0;
      resolve();
    });
    raw.once('error', reject);
  });
}
