import { connect } from 'node:net';
import { Writable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Body, Controller, Module, Post } from '@nestjs/common';
import { PROBLEM_MEDIA_TYPE } from '@undertone/protocol';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { Problem } from '../problems/problem';
import { createServiceApp, type ServiceApp } from '../service-app';
import { DirectRoute } from './direct-route';

let taken: WeakRef<object> | undefined;
let letGo: () => void;

@Controller('v1')
class HastyController {
  @Post('direct/:how')
  @DirectRoute()
  async direct(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { how } = request.params as { how: string };
    if (how === 'undefined') throw undefined;
    if (how === 'slow') await this.take(request);
    if (how === 'text') throw 'secret text';
    void reply.status(202).send({ taken: true });
    if (how === 'late') throw new Error('the rest went wrong');
    if (how === 'late-problem') throw new Problem('closed-task', 'closed meanwhile');
    return reply;
  }

  private async take(request: FastifyRequest): Promise<void> {
    taken = new WeakRef(request.body as object);
    request.body = undefined;
    await new Promise<void>((resolve) => (letGo = resolve));
  }

  @Post('plain')
  plain(@Body() body: unknown): unknown {
    return body;
  }
}

@Module({ controllers: [HastyController] })
class HastyModule {}

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly correlationId: string;
}

let app: ServiceApp;
let url: URL;
let lines: Line[] = [];
const logDestination = new Writable({
  write(chunk, _encoding, done) {
    lines.push(JSON.parse(String(chunk)) as Line);
    done();
  },
});

beforeAll(async () => {
  app = await createServiceApp(HastyModule, {
    name: 'hasty',
    config: { host: '127.0.0.1', port: 0, logLevel: 'info' },
    logDestination,
    problems: [
      (error) =>
        (error as NodeJS.ErrnoException | undefined)?.code === 'ECONNRESET'
          ? new Problem('unavailable', 'the database is away', { cause: error })
          : undefined,
    ],
  });
  url = new URL(await app.listen());
});
afterAll(() => app.stop());
beforeEach(() => {
  lines = [];
});

const pass = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const logged = async (count: number): Promise<Line[]> => {
  while (lines.length < count) await pass(5);
  await pass(20);
  return lines;
};

it.each(['/v1/direct/well', '/v1/plain'])(
  'says of a sender of %s that is gone amid its body only that it was aborted',
  async (path) => {
    const socket = connect(Number(url.port), '127.0.0.1');
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{`,
    );
    await pass(50);
    socket.destroy();
    expect((await logged(1)).map(({ msg }) => msg)).toEqual([`POST ${path} aborted`]);
  },
);

it.each(['undefined', 'text'])('answers 500 where %s is thrown', async (how) => {
  const answer = await fetch(new URL(`/v1/direct/${how}`, url), { method: 'POST' });
  expect(answer.status).toBe(500);
  expect(answer.headers.get('content-type')).toContain(PROBLEM_MEDIA_TYPE);
  const text = await answer.text();
  expect(JSON.parse(text)).toMatchObject({ type: 'urn:undertone:problem:internal' });
  expect(text).not.toContain('secret');
  expect((await logged(2))[0]).toMatchObject({
    level: 'error',
    msg: expect.stringMatching(/^answered internal/),
  });
});

it.each([
  ['late', 'the rest went wrong'],
  ['late-problem', 'closed meanwhile'],
])('logs an error after the answer, %s', async (how, message) => {
  const answer = await fetch(new URL(`/v1/direct/${how}`, url), { method: 'POST' });
  expect(answer.status).toBe(202);
  expect(await answer.json()).toEqual({ taken: true });
  const correlationId = answer.headers.get('x-correlation-id');
  expect(await logged(2)).toContainEqual(
    expect.objectContaining({
      level: 'error',
      correlationId,
      msg: `failed after its answer had begun: ${message}`,
    }),
  );
});

it('holds no body that the handler has taken out of the request', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const answer = fetch(new URL('/v1/direct/slow', url), { method: 'POST', body: new Uint8Array(500_000) });
  while (taken === undefined) await pass(5);
  for (let i = 0; i < 20 && taken.deref() !== undefined; i++) {
    await pass(5);
    collectGarbage();
  }
  const isHeld = taken.deref() !== undefined;
  letGo();
  expect(isHeld).toBe(false);
  expect((await answer).status).toBe(202);
});
