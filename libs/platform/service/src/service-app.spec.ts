import { connect, createServer, type Server } from 'node:net';
import { Writable } from 'node:stream';
import {
  Body,
  Controller,
  Get,
  Inject,
  Injectable,
  Logger,
  Module,
  type OnApplicationShutdown,
  Param,
  Post,
  Query,
} from '@nestjs/common';
import { type CustomTransportStrategy, EventPattern, Server as TransportServer } from '@nestjs/microservices';
import { Liveness, Readiness } from '@undertone/observability';
import { LIMITS, ProblemDocument, ProtocolError } from '@undertone/protocol';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { DirectRoute } from './http/direct-route';
import { Problem } from './problems/problem';
import { createServiceApp, type ServiceApp } from './service-app';
import { Transports } from './transport/transports';

class Thing extends createZodDto(
  z.strictObject({ name: z.string(), records: z.array(z.object({ size: z.int().max(9) })) }),
) {}
class Page extends createZodDto(z.object({ limit: z.coerce.number().int().min(1).default(10) })) {}

class LibraryError extends Error {}
const events: string[] = [];
let slowIsRunning: (() => void) | undefined;

@Controller('v1/things')
class ThingController implements OnApplicationShutdown {
  @Post()
  create(@Body() thing: Thing): unknown {
    return { made: thing.name };
  }

  @Get()
  list(@Query() page: Page): unknown {
    return { limit: page.limit };
  }

  @Post('direct/:how')
  @DirectRoute()
  async direct(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { how } = request.params as { how: string };
    if (how === 'known') throw new Problem('closed-task', 'closed', { headers: { 'retry-after': '7' } });
    if (how === 'inside') throw new Error('secret inside');
    await new Promise((resolve) => setImmediate(resolve));
    new Logger('Things').warn('something odd');
    const body = request.body as Buffer;
    return reply
      .status(202)
      .send({ self: this.constructor.name, isBuffer: Buffer.isBuffer(body), bytes: body.length });
  }

  @Get('fail/:how')
  fail(@Param('how') how: string): never {
    if (how === 'known') {
      throw new Problem('closed-task', 'the task "a" closed', { headers: { 'retry-after': '7' } });
    }
    if (how === 'protocol') throw new ProtocolError('malformed-report', 'too long', 'reports[3].payload');
    if (how === 'library') throw new LibraryError('odd');
    if (how === 'prisma') {
      const quoting =
        'Invalid `create()` invocation:\n\n{ data: { payload: "deadbeef" } }\n\nA value is missing.';
      throw Object.assign(new Error(quoting), { name: 'PrismaClientValidationError' });
    }
    throw Object.assign(new Error('secret inside: row 12'), { detail: 'Key (id)=(deadbeef)' });
  }

  @Get('slow')
  async slow(): Promise<unknown> {
    slowIsRunning?.();
    await new Promise((r) => setTimeout(r, 150));
    events.push('answered');
    return { slow: true };
  }

  onApplicationShutdown(): void {
    events.push('shut down');
  }
}

@Module({ controllers: [ThingController] })
class ThingModule {}

let log = '';
const logDestination = new Writable({
  write(chunk, _encoding, done) {
    log += String(chunk);
    done();
  },
});
const lines = (): Record<string, unknown>[] =>
  log
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const start = (config: { port?: number; host?: string } = {}): Promise<ServiceApp> =>
  createServiceApp(ThingModule, {
    name: 'things',
    config: { host: '127.0.0.1', port: 0, logLevel: 'info', ...config },
    logDestination,
    problems: [
      (e) =>
        e instanceof LibraryError ? new Problem('invalid-dataset', `library: ${e.message}`) : undefined,
    ],
  });

describe('a service', () => {
  let app: ServiceApp;
  let url: string;

  beforeAll(async () => {
    app = await start();
    url = await app.listen();
  });
  afterAll(() => app.stop());
  beforeEach(() => {
    log = '';
  });

  const post = (path: string, body: RequestInit['body'], type: string | undefined): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: 'POST',
      body,
      headers: type === undefined ? {} : { 'content-type': type },
    });

  /** Checks the form of a problem document and gives it. */
  const problem = async (response: Response): Promise<ProblemDocument> => {
    expect(response.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    const document = ProblemDocument.parse(await response.json());
    expect(document.status).toBe(response.status);
    expect(document.correlationId).toBe(response.headers.get('x-correlation-id'));
    return document;
  };

  it('answers', async () => {
    const response = await post('/v1/things', JSON.stringify({ name: 'a', records: [] }), 'application/json');
    expect(response.status).toBe(201);
    expect(await response.json()).toEqual({ made: 'a' });
  });

  it('names every field of a request that is wrong', async () => {
    const body = JSON.stringify({ nam: 'a', records: [{ size: 3 }, { size: 12 }] });
    const document = await problem(await post('/v1/things', body, 'application/json'));
    expect(document.type).toBe('urn:undertone:problem:invalid-request');
    expect(document.instance).toBe('/v1/things');
    expect(document.errors?.map(({ field }) => field).sort()).toEqual(['nam', 'name', 'records[1].size']);
    expect(document.detail).toContain('records[1].size');
  });

  it('checks a query and fills in its defaults', async () => {
    expect(await (await fetch(`${url}/v1/things`)).json()).toEqual({ limit: 10 });
    const document = await problem(await fetch(`${url}/v1/things?limit=0`));
    expect(document.errors?.[0].field).toBe('limit');
  });

  it('refuses JSON that is none, and JSON that reaches for a prototype', async () => {
    for (const body of ['{"name":', '{"__proto__": {"x": 1}, "name": "a", "records": []}']) {
      const document = await problem(await post('/v1/things', body, 'application/json'));
      expect(document.type).toBe('urn:undertone:problem:malformed-body');
    }
  });

  it('takes an absent body as a request without its fields', async () => {
    const document = await problem(await post('/v1/things', '', 'application/json'));
    expect(document.type).toBe('urn:undertone:problem:invalid-request');
  });

  it('lets Fastify call a direct route, which answers and fails like any other', async () => {
    const answer = await fetch(`${url}/v1/things/direct/well`, {
      method: 'POST',
      body: '{"a":1}',
      headers: { 'content-type': 'application/json', 'x-correlation-id': 'caller-0002' },
    });
    expect(answer.status).toBe(202);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.headers.get('x-correlation-id')).toBe('caller-0002');
    expect(await answer.json()).toEqual({ self: 'ThingController', isBuffer: true, bytes: 7 });

    const known = await post('/v1/things/direct/known', new Uint8Array(3), 'application/cbor');
    expect(known.headers.get('retry-after')).toBe('7');
    expect(await problem(known)).toMatchObject({ status: 410, detail: 'closed' });
    const inside = await problem(
      await post('/v1/things/direct/inside', new Uint8Array(3), 'application/cbor'),
    );
    expect(inside).toMatchObject({ status: 500, type: 'urn:undertone:problem:internal' });
    expect(JSON.stringify(inside)).not.toContain('secret');
    const other = await post('/v1/things/direct/well', 'a=b', 'text/plain');
    expect(await other.json()).toMatchObject({ bytes: 3 });

    await new Promise((r) => setTimeout(r, 20));
    expect(lines().map(({ msg }) => msg)).toEqual([
      'something odd',
      'POST /v1/things/direct/well 202',
      'POST /v1/things/direct/known 410',
      'answered internal: secret inside',
      'POST /v1/things/direct/inside 500',
      'something odd',
      'POST /v1/things/direct/well 202',
    ]);
    // A line that the request caused, though nobody gave it the id.
    expect(lines()[0]).toMatchObject({ context: 'Things', correlationId: 'caller-0002' });
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(
      /request_duration_seconds_count\{method="POST",route="\/v1\/things\/direct\/:how",status="202"\} 2/,
    );
  });

  it.each(['announced', 'not announced'])(
    'refuses a body of a direct route that is too long, %s',
    async (how) => {
      const bytes = new Uint8Array(LIMITS.maximumBodyBytes + 1);
      const body = how === 'announced' ? bytes : new Blob([bytes]).stream();
      const answer = await fetch(`${url}/v1/things/direct/well`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/cbor' },
        duplex: 'half',
      } as RequestInit);
      expect(answer.headers.get('connection')).toBe('close');
      expect(await problem(answer)).toMatchObject({ status: 413 });
      const most = bytes.subarray(1);
      const after = await post('/v1/things/direct/well', most, 'application/cbor');
      expect(await after.json()).toMatchObject({ bytes: most.length });
    },
  );

  it('says of a request whose caller is gone that it was aborted, and waits for it no longer', async () => {
    const gone = await start();
    const address = new URL(await gone.listen());
    log = '';
    const socket = connect(Number(address.port), '127.0.0.1');
    socket.write(
      'POST /v1/things HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{',
    );
    await new Promise((r) => setTimeout(r, 50));
    socket.destroy();
    while (!lines().some(({ msg }) => msg === 'POST /v1/things aborted'))
      await new Promise((r) => setTimeout(r, 5));
    const metrics = await (await fetch(new URL('/metrics', address))).text();
    expect(metrics).not.toContain('route="/v1/things"');
    await gone.stop();
  });

  it('refuses a body above the limit, with or without its length told ahead', async () => {
    const large = new Uint8Array(LIMITS.maximumBodyBytes + 1);
    const document = await problem(await post('/v1/things', large, 'application/json'));
    expect(document.status).toBe(413);
    expect(document.detail).toContain(String(LIMITS.maximumBodyBytes));

    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(large);
        controller.close();
      },
    });
    const chunked = await fetch(`${url}/v1/things`, {
      method: 'POST',
      body: stream,
      headers: { 'content-type': 'application/json' },
      duplex: 'half',
    } as RequestInit);
    expect((await problem(chunked)).type).toBe('urn:undertone:problem:body-too-large');
  });

  it('refuses media types that it does not know', async () => {
    for (const type of [
      'application/cbor',
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const document = await problem(await post('/v1/things', 'a=b', type));
      expect(document.type).toBe('urn:undertone:problem:unsupported-media-type');
    }
  });

  it('answers an unknown address and a broken one with a problem', async () => {
    expect((await problem(await fetch(`${url}/v2/nothing?token=x`))).type).toBe(
      'urn:undertone:problem:not-found',
    );
    const broken = await problem(await fetch(`${url}/v1/things/fail/%FF`));
    expect(broken.status).toBe(400);
  });

  it('answers a problem as it was thrown, with its headers', async () => {
    const response = await fetch(`${url}/v1/things/fail/known`);
    expect(response.status).toBe(410);
    expect(response.headers.get('retry-after')).toBe('7');
    expect(await problem(response)).toMatchObject({ title: 'Closed task', detail: 'the task "a" closed' });
  });

  it('answers the errors of libraries by their mapping', async () => {
    expect(await problem(await fetch(`${url}/v1/things/fail/protocol`))).toMatchObject({
      type: 'urn:undertone:problem:malformed-report',
      errors: [{ field: 'reports[3].payload' }],
    });
    expect(await problem(await fetch(`${url}/v1/things/fail/library`))).toMatchObject({
      type: 'urn:undertone:problem:invalid-dataset',
      detail: 'library: odd',
    });
  });

  it('keeps what went wrong inside to its log, under the correlation id', async () => {
    const response = await fetch(`${url}/v1/things/fail/inside`, {
      headers: { 'x-correlation-id': 'caller-0001' },
    });
    const document = await problem(response);
    expect(document.type).toBe('urn:undertone:problem:internal');
    expect(document.correlationId).toBe('caller-0001');
    expect(JSON.stringify(document)).not.toContain('secret inside');
    const line = lines().find(({ msg }) => String(msg).startsWith('answered internal'));
    expect(line).toMatchObject({ level: 'error', correlationId: 'caller-0001' });
    expect(JSON.stringify(line)).toContain('secret inside');
    expect(log).not.toContain('deadbeef');
  });

  it('logs what was wrong with a call of the database, not what it was called with', async () => {
    await problem(await fetch(`${url}/v1/things/fail/prisma`));
    expect(lines().map(({ msg }) => msg)).toContain('answered internal: A value is missing.');
    expect(log).not.toContain('deadbeef');
  });

  it('makes an id of its own for a caller whose id has an unsafe form', async () => {
    const response = await fetch(`${url}/v1/things`, { headers: { 'x-correlation-id': 'short' } });
    expect(response.headers.get('x-correlation-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('logs one line a request, without address, query, header or body', async () => {
    await fetch(`${url}/v1/things?limit=3&q=private-query`, { headers: { 'x-private': 'private-header' } });
    await post('/v1/things', JSON.stringify({ name: 'private-name', records: [] }), 'application/json');
    await fetch(`${url}/health/live`);
    await new Promise((r) => setTimeout(r, 20));
    expect(lines().map(({ msg }) => msg)).toEqual(['GET /v1/things 200', 'POST /v1/things 201']);
    expect(lines()[0]).toMatchObject({ service: 'things', level: 'info', correlationId: expect.any(String) });
    expect(log).not.toMatch(/private|127\.0\.0\.1|::1/);
  });

  it('is alive, and ready when its checks pass', async () => {
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    let database: Error | undefined = undefined;
    app.nest.get(Readiness).add('database', () => (database ? Promise.reject(database) : Promise.resolve()));
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    database = new Error('it does not answer');
    const response = await fetch(`${url}/health/ready`);
    expect(response.status).toBe(503);
    expect(await problem(response)).toMatchObject({
      type: 'urn:undertone:problem:unavailable',
      detail: 'not ready (database: it does not answer)',
    });
  });

  it('is dead, and says why, once a module has said that it can’t go on', async () => {
    const other = await start();
    const address = await other.listen();
    const { failed } = other;
    other.nest.get(Liveness).fail(new Error('the reader is stuck'));
    other.nest.get(Liveness).fail(new Error('something that follows from it'));
    expect((await failed).message).toBe('the reader is stuck');
    const response = await fetch(`${address}/health/live`);
    expect(response.status).toBe(503);
    expect(await problem(response)).toMatchObject({
      type: 'urn:undertone:problem:unavailable',
      detail: 'the reader is stuck',
    });
    await other.stop();
  });

  it('measures requests by route, not by address', async () => {
    await fetch(`${url}/v1/things/fail/known`);
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text).toContain('process_cpu_seconds_total');
    expect(text).toMatch(
      /request_duration_seconds_count\{method="GET",route="\/v1\/things\/fail\/:how",status="410"\}/,
    );
    expect(text).not.toContain('fail/known');
  });

  it('describes its API', async () => {
    const document = (await (await fetch(`${url}/docs/openapi.json`)).json()) as {
      paths: Record<string, unknown>;
      components: { schemas: Record<string, { properties: Record<string, unknown> }> };
    };
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining(['/v1/things/fail/{how}', '/v1/things/direct/{how}']),
    );
    expect(Object.keys(document.components.schemas.Thing.properties)).toEqual(['name', 'records']);
    expect(await (await fetch(`${url}/docs`)).text()).toContain('swagger-ui');
  });
});

describe('starting and stopping', () => {
  it('names the port that is in use and what to do', async () => {
    const other: Server = createServer().listen(0, '127.0.0.1');
    await new Promise((r) => other.once('listening', r));
    const { port } = other.address() as { port: number };
    const app = await start({ port });
    await expect(app.listen()).rejects.toMatchObject({
      code: 'port-in-use',
      message: expect.stringMatching(new RegExp(`port ${port} on 127.0.0.1 is in use.*UNDERTONE_PORT`)),
    });
    await new Promise((r) => other.close(r));
  });

  it('names a host that is not here', async () => {
    await expect((await start({ host: '192.0.2.1' })).listen()).rejects.toMatchObject({
      code: 'host-unknown',
    });
  });

  it('answers what is in flight before it shuts down, and closes idle connections', async () => {
    const app = await start();
    const url = await app.listen();
    events.length = 0;
    const running = new Promise<void>((resolve) => (slowIsRunning = resolve));
    const answer = fetch(`${url}/v1/things/slow`);
    const idle = connect(Number(new URL(url).port), '127.0.0.1');
    await running;
    const began = Date.now();
    await Promise.all([app.stop(), app.stop()]);
    expect((await answer).status).toBe(200);
    expect(events).toEqual(['answered', 'shut down']);
    expect(Date.now() - began).toBeLessThan(3_000);
    idle.destroy();
    await expect(fetch(`${url}/health/live`)).rejects.toThrow();
  });
});

const LINE = Symbol('a line of parcels');

/** Hands parcels to its one handler, one after another. */
class ParcelLine extends TransportServer implements CustomTransportStrategy {
  override readonly transportId = LINE;
  failure: Error | undefined;
  handled: Promise<unknown> = Promise.resolve();

  listen(callback: (error?: Error) => void): void {
    if (this.failure === undefined) events.push('line open');
    callback(this.failure);
  }

  deliver(parcel: unknown): void {
    this.handled = this.handleEvent('parcels', { pattern: 'parcels', data: parcel }, {} as never);
  }

  async close(): Promise<void> {
    events.push('line closing');
    await this.handled;
    events.push('line closed');
  }

  on(): void {}
  unwrap<T>(): T {
    return undefined as T;
  }
}

describe('transports', () => {
  const line = new ParcelLine();
  let finish: () => void;
  let begun: Promise<void>;
  let begin: () => void;

  @Controller()
  class ParcelController {
    @EventPattern('parcels', LINE)
    async take(): Promise<void> {
      begin();
      await new Promise<void>((resolve) => (finish = resolve));
      events.push('handled');
    }
  }

  @Injectable()
  class ParcelService {
    constructor(@Inject(Transports) transports: Transports) {
      transports.add(line);
    }
  }

  @Module({ imports: [ThingModule], controllers: [ParcelController], providers: [ParcelService] })
  class ParcelModule {}

  const startWithLine = (): Promise<ServiceApp> =>
    createServiceApp(ParcelModule, {
      name: 'parcels',
      config: { host: '127.0.0.1', port: 0, logLevel: 'silent' },
    });

  beforeEach(() => {
    events.length = 0;
    line.failure = undefined;
    begun = new Promise((resolve) => (begin = resolve));
  });

  it('listen before HTTP does; at the end requests, handlers and resources end in this order', async () => {
    const app = await startWithLine();
    const url = await app.listen();
    expect(events).toEqual(['line open']);
    const running = new Promise<void>((resolve) => (slowIsRunning = resolve));
    const answer = fetch(`${url}/v1/things/slow`);
    await running;
    line.deliver({ weight: 3 });
    await begun;
    const stopped = app.stop();
    expect((await answer).status).toBe(200);
    while (!events.includes('line closing')) await new Promise((r) => setImmediate(r));
    expect(events).toEqual(['line open', 'answered', 'line closing']);
    finish();
    await stopped;
    expect(events).toEqual(['line open', 'answered', 'line closing', 'handled', 'line closed', 'shut down']);
  });

  it('stop the start where one can’t listen', async () => {
    line.failure = new Error('no handler takes parcels');
    const app = await startWithLine();
    await expect(app.listen()).rejects.toThrow('no handler takes parcels');
    expect(events).toContain('shut down');
    expect(app.nest.getHttpServer().listening).toBe(false);
  });
});
