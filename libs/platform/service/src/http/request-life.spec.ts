import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fastify, type FastifyInstance } from 'fastify';
import { RequestLife } from './request-life';

const UPLOAD_MS = 150;

let server: FastifyInstance;
let life: RequestLife;
let port: number;
let answer: () => void;
let handling: Promise<void>;

beforeEach(async () => {
  server = fastify();
  life = new RequestLife(server);
  handling = new Promise((resolve) => {
    server.post('/slow', async () => {
      resolve();
      await new Promise<void>((done) => (answer = done));
      return 'answered';
    });
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  port = server.addresses()[0].port;
});
afterEach(async () => {
  server.server.closeAllConnections();
  await server.close();
});

const send = (bodyBytes: number): Socket & { received: string } => {
  const socket = Object.assign(connect(port, '127.0.0.1'), { received: '' });
  socket.on('error', () => undefined);
  socket.on('data', (data: Buffer) => (socket.received += data.toString()));
  socket.write(
    `POST /slow HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: ${bodyBytes}\r\n\r\nabc`,
  );
  return socket;
};
const pass = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const drain = (uploadMs = UPLOAD_MS): Promise<void> => life.drainDuring(() => server.close(), uploadMs);

it('cuts off an upload that takes too long while draining', async () => {
  const upload = send(100);
  await pass(30);
  const began = performance.now();
  const cut = once(upload, 'close').then(() => performance.now() - began);
  await drain();
  expect(performance.now() - began).toBeLessThan(UPLOAD_MS + 1_000);
  expect(await cut).toBeGreaterThan(UPLOAD_MS - 20);
  expect(upload.received).toBe('');
});

it('still answers a request that is complete, however long that takes, beside one that is not', async () => {
  const complete = send(3);
  const completeEnds = once(complete, 'close');
  const upload = send(100);
  await handling;
  const drained = drain();
  await once(upload, 'close');
  await pass(50);
  answer();
  await Promise.all([drained, completeEnds]);
  expect(complete.received).toContain('200 OK');
  expect(complete.received).toContain('answered');
});

it('lets an upload end that is quick enough', async () => {
  const upload = send(5);
  const uploadEnds = once(upload, 'close');
  await pass(30);
  const drained = drain(60_000);
  await pass(30);
  upload.write('de');
  await handling;
  answer();
  await Promise.all([drained, uploadEnds]);
  expect(upload.received).toContain('answered');
});
