import { DeterministicRandom } from '@undertone/ldp/testing';
import { joinReports, LIMITS } from '@undertone/protocol';
import fc from 'fast-check';
import { type Move, ScriptedGateway } from '../../testing/scripted-gateway';
import { smallTask } from '../../testing/small-task';
import { type ConnectOptions, MemoryOutbox, type OutboxEntry, Undertone } from '../index';
import { cutIntoBatches } from './batches';

const { task, file, trustedKeys } = smallTask();
const RED = [255, 0];

let gateway: ScriptedGateway;
let outbox: MemoryOutbox;

beforeEach(async () => {
  gateway = await ScriptedGateway.start(task, file);
  outbox = new MemoryOutbox();
});

afterEach(() => gateway.stop());

const connect = (over: Partial<ConnectOptions> = {}) =>
  Undertone.connect({
    url: gateway.url,
    task: task.name,
    trustedKeys,
    maximumEpsilon: 2,
    outbox,
    random: new DeterministicRandom(5),
    retry: { attempts: 3, firstDelayMs: 1, requestTimeoutMs: 200 },
    ...over,
  });

async function withReports(n: number, over: Partial<ConnectOptions> = {}): Promise<Undertone> {
  const undertone = await connect(over);
  for (let i = 0; i < n; i++) await undertone.privatise(RED, 'red', { recordKey: `record ${i}` });
  return undertone;
}

/** Every arrival of a report had the bytes that its first had, and they are those of the outbox. */
async function expectSameBytes(): Promise<void> {
  const drawn = new Map<string, string>();
  for (let i = 0; ; i++) {
    const entry = await outbox.find(`record ${i}`, task.artifact);
    if (!entry) break;
    drawn.set(entry.id, Buffer.from(entry.bytes).toString('hex'));
  }
  for (const { id, bytes } of gateway.arrivals) expect(bytes).toBe(drawn.get(id));
}

describe('a flush', () => {
  it('sends everything in batches, few at once', async () => {
    const undertone = await withReports(230, { upload: { batch: 20, concurrency: 3 } });
    gateway.delayMs = 5;
    const progress: number[] = [];
    const onProgress = ({ acknowledged }: { acknowledged: number }) => progress.push(acknowledged);
    expect(await undertone.flush({ onProgress })).toEqual({ acknowledged: 230, rejected: 0, waiting: 0 });
    expect(gateway.batchSizes.sort()).toEqual([10, ...new Array(11).fill(20)]);
    expect(progress.reduce((a, b) => a + b)).toBe(230);
    expect(gateway.mostAtOnce).toBeLessThanOrEqual(3);
    expect(gateway.mostAtOnce).toBeGreaterThan(1);
    expect(gateway.stored.size).toBe(230);
    await expectSameBytes();
  });

  it('of nothing sends nothing', async () => {
    expect(await (await connect()).flush()).toEqual({ acknowledged: 0, rejected: 0, waiting: 0 });
    expect(gateway.batchSizes).toEqual([]);
  });

  it.each<[string, Move]>([
    ['a lost answer', 'answer-lost'],
    ['a lost request', 'request-lost'],
    ['an answer cut short', 'answer-cut'],
    ['a silent gateway', 'hang'],
    ['a success that is no receipt', 'captive-portal'],
    ['500', { status: 500, problem: 'internal' }],
    ['502 of a proxy', { status: 502 }],
    ['503 with Retry-After', { status: 503, retryAfter: '0', problem: 'unavailable' }],
    ['429', { status: 429, problem: 'too-many-requests' }],
    ['408', { status: 408 }],
  ])('outlasts %s with the same bytes', async (_, move) => {
    gateway.moves.push(move);
    const undertone = await withReports(5);
    expect(await undertone.flush()).toEqual({ acknowledged: 5, rejected: 0, waiting: 0 });
    expect(gateway.stored.size).toBe(5);
    await expectSameBytes();
  });

  it('gives up after its tries, keeps the reports, and sends the same bytes next time', async () => {
    gateway.moves.push('answer-lost', { status: 500 }, 'request-lost');
    const undertone = await withReports(5);
    const result = await undertone.flush();
    expect(result).toMatchObject({
      acknowledged: 0,
      rejected: 0,
      waiting: 5,
      failure: { code: 'unreachable' },
    });
    expect(result.failure!.message).toMatch(
      /^POST .*\/v1\/tasks\/colours\/reports: no answer: .* \(3 of 3 tries\)/,
    );
    const restarted = await connect({ random: new DeterministicRandom(77) });
    expect(await restarted.flush()).toEqual({ acknowledged: 5, rejected: 0, waiting: 0 });
    expect(gateway.arrivals).toHaveLength(10);
    expect(gateway.stored.size).toBe(5);
    await expectSameBytes();
  });

  it('waits as long as Retry-After says, and gives up where that is longer than it may wait', async () => {
    const waits: number[] = [];
    const wait = async (ms: number) => void waits.push(ms);
    const retry = { attempts: 4, firstDelayMs: 10, maximumDelayMs: 5000, wait };
    const inThreeSeconds = new Date(Date.now() + 3000).toUTCString();
    gateway.moves.push(
      { status: 503, retryAfter: '2' },
      { status: 429, retryAfter: inThreeSeconds },
      { status: 503, retryAfter: 'soon' },
    );
    const undertone = await withReports(2, { retry });
    expect((await undertone.flush()).acknowledged).toBe(2);
    expect(waits[0]).toBe(2000);
    expect(waits[1]).toBeGreaterThan(1500);
    expect(waits[1]).toBeLessThanOrEqual(3000);
    expect(waits[2]).toBeLessThanOrEqual(40);

    await undertone.privatise(RED, 'red', { recordKey: 'later' });
    gateway.moves.push({ status: 503, retryAfter: '3600' });
    const { waiting, failure } = await undertone.flush();
    expect(waiting).toBe(1);
    expect(failure).toMatchObject({ code: 'unreachable', status: 503, retryAfterMs: 3_600_000 });
    expect(waits).toHaveLength(3);
  });

  it('draws each wait from a range that doubles up to the maximum', async () => {
    const waits: number[] = [];
    const wait = async (ms: number) => void waits.push(ms);
    const undertone = await withReports(1, {
      retry: { attempts: 300, firstDelayMs: 100, maximumDelayMs: 400, wait },
    });
    for (let i = 0; i < 299; i++) gateway.moves.push({ status: 500 });
    await undertone.flush();
    expect(waits[0]).toBeLessThanOrEqual(100);
    expect(waits[1]).toBeLessThanOrEqual(200);
    expect(Math.max(...waits)).toBeLessThanOrEqual(400);
    const mean = waits.slice(2).reduce((a, b) => a + b) / (waits.length - 2);
    expect(mean).toBeGreaterThan(150);
    expect(mean).toBeLessThan(250);
  });

  it('marks what a receipt rejects, with its reason, and never sends it again', async () => {
    const undertone = await withReports(6, { upload: { batch: 3 } });
    const bad = (await outbox.find('record 4', task.artifact))!;
    gateway.faults.set(bad.id, { reason: 'impossible-payload', detail: 'payload: too long' });
    expect(await undertone.flush()).toEqual({ acknowledged: 5, rejected: 1, waiting: 0 });
    expect(await outbox.find('record 4', task.artifact)).toEqual({
      ...bad,
      state: 'rejected',
      rejection: { reason: 'impossible-payload', detail: 'payload: too long' },
    });
    const sent = gateway.arrivals.length;
    expect(await undertone.flush()).toEqual({ acknowledged: 0, rejected: 0, waiting: 0 });
    expect(await undertone.submit(RED, 'red', { recordKey: 'record 4' })).toMatchObject({
      state: 'rejected',
    });
    expect(gateway.arrivals).toHaveLength(sent);
    await expectSameBytes();
  });

  it('settles a batch of which every report is refused', async () => {
    const undertone = await withReports(2);
    for (const record of ['record 0', 'record 1']) {
      const { id } = (await outbox.find(record, task.artifact))!;
      gateway.faults.set(id, { reason: 'impossible-payload', detail: 'payload: too long' });
    }
    expect(await undertone.flush()).toEqual({ acknowledged: 0, rejected: 2, waiting: 0 });
    expect(gateway.batchSizes).toEqual([2]);
  });

  it('marks the reports of a task that has closed meanwhile', async () => {
    gateway.moves.push({ status: 410, problem: 'closed-task' });
    const undertone = await withReports(3);
    expect(await undertone.flush()).toEqual({ acknowledged: 0, rejected: 3, waiting: 0 });
    expect(await outbox.find('record 0', task.artifact)).toMatchObject({
      state: 'rejected',
      rejection: { reason: 'closed-task', detail: 'says closed-task' },
    });
  });

  it.each<[string, Move, RegExp]>([
    ['403 of a proxy', { status: 403 }, /the answer was 403, with no problem document of the gateway/],
    ['400 of a proxy', { status: 400 }, /the answer was 400, with no problem document/],
    [
      'a task not open yet',
      { status: 409, problem: 'scheduled-task' },
      /409, scheduled-task: says scheduled-task/,
    ],
    ['a task unknown', { status: 404, problem: 'unknown-task' }, /404, unknown-task/],
    ['a missing permission', { status: 401, problem: 'unauthorised' }, /401, unauthorised/],
  ])('keeps the reports through %s and stops there', async (_, move, message) => {
    gateway.moves.push(move);
    const undertone = await withReports(4, { upload: { batch: 1, concurrency: 1 } });
    const { acknowledged, waiting, failure } = await undertone.flush();
    expect({ acknowledged, waiting }).toEqual({ acknowledged: 0, waiting: 4 });
    expect(failure).toMatchObject({ code: 'unexpected-answer', message: expect.stringMatching(message) });
    expect(await undertone.flush()).toEqual({ acknowledged: 4, rejected: 0, waiting: 0 });
  });

  it('halves what a gateway or proxy finds too large, down to the one report that is', async () => {
    gateway.maximumBodyBytes = 600;
    const undertone = await withReports(17, { upload: { concurrency: 1 } });
    expect(await undertone.flush()).toEqual({ acknowledged: 17, rejected: 0, waiting: 0 });
    await undertone.privatise(RED, 'red', { recordKey: 'record 17' });
    gateway.maximumBodyBytes = 10;
    expect(await undertone.flush()).toEqual({ acknowledged: 0, rejected: 1, waiting: 0 });
    expect((await outbox.find('record 17', task.artifact))!.rejection!.reason).toBe('body-too-large');
  });

  it('leaves one report waiting that only a proxy finds too large', async () => {
    gateway.moves.push({ status: 413 });
    const undertone = await withReports(1);
    expect(await undertone.flush()).toMatchObject({
      waiting: 1,
      failure: { code: 'unexpected-answer', status: 413 },
    });
  });

  it('finds the one report that spoils its batch', async () => {
    const undertone = await withReports(8);
    const broken = {
      ...(await outbox.find('record 5', task.artifact))!,
      id: 'f'.repeat(32),
      recordKey: 'broken',
      bytes: Uint8Array.of(0x5f),
    };
    await outbox.keep(broken);
    expect(await undertone.flush()).toEqual({ acknowledged: 8, rejected: 1, waiting: 0 });
    expect((await outbox.find('broken', task.artifact))!.rejection!.reason).toBe('malformed-body');
  });

  it.each<[string, (n: number) => unknown]>([
    ['counts too few', (n) => ({ accepted: n - 1, rejected: [] })],
    ['counts too many', (n) => ({ accepted: n + 1, rejected: [] })],
    [
      'rejects a report twice',
      (n) => ({
        accepted: n - 2,
        rejected: [0, 0].map((index) => ({ index, id: null, reason: 'malformed', detail: '' })),
      }),
    ],
    [
      'rejects a report beyond the batch',
      (n) => ({ accepted: n - 1, rejected: [{ index: n, id: null, reason: 'malformed', detail: '' }] }),
    ],
    [
      'rejects another report',
      (n) => ({
        accepted: n - 1,
        rejected: [{ index: 0, id: '0'.repeat(32), reason: 'malformed', detail: '' }],
      }),
    ],
    ['has another form', () => ({ ok: true })],
  ])('believes no receipt that %s', async (_, receipt) => {
    let lies = 2;
    const fetch: typeof globalThis.fetch = async (url, init) =>
      init?.method === 'POST' && lies-- > 0
        ? new Response(JSON.stringify(receipt(3)), { status: 202 })
        : globalThis.fetch(url, init);
    const undertone = await withReports(3, { fetch });
    expect(await undertone.flush()).toEqual({ acknowledged: 3, rejected: 0, waiting: 0 });
    expect(gateway.stored.size).toBe(3);
  });

  it('at the same time as another waits for it and sends nothing twice', async () => {
    const undertone = await withReports(40, { upload: { batch: 10 } });
    const results = await Promise.all([undertone.flush(), undertone.flush(), undertone.flush()]);
    expect(results.map((r) => r.acknowledged).sort()).toEqual([0, 0, 40]);
    expect(results.every((r) => r.waiting === 0)).toBe(true);
    expect(gateway.arrivals).toHaveLength(40);
  });

  it('fails where the outbox does, once its other requests are done', async () => {
    const undertone = await withReports(6, { upload: { batch: 1, concurrency: 2 } });
    gateway.delayMs = 5;
    const acknowledge = outbox.acknowledge.bind(outbox);
    let failures = 1;
    outbox.acknowledge = async (ids) => {
      if (failures-- > 0) throw new Error('disk full');
      return acknowledge(ids);
    };
    await expect(undertone.flush()).rejects.toThrow('disk full');
    expect(gateway.arrivals).toHaveLength(2);
    expect(await undertone.flush()).toEqual({ acknowledged: 5, rejected: 0, waiting: 0 });
    expect(gateway.stored.size).toBe(6);
    await expectSameBytes();
  });

  it('stops when it is cancelled and says so', async () => {
    gateway.moves.push('hang');
    const undertone = await withReports(3, { retry: { requestTimeoutMs: 60_000 } });
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 30);
    expect(await undertone.flush({ signal: stop.signal })).toMatchObject({
      waiting: 3,
      failure: { code: 'cancelled' },
    });
    expect((await undertone.flush()).acknowledged).toBe(3);
  });

  it('sends without cookies or referrer', async () => {
    const seen: RequestInit[] = [];
    const fetch: typeof globalThis.fetch = (url, init) => {
      seen.push(init!);
      return globalThis.fetch(url, init);
    };
    await (await withReports(1, { fetch })).flush();
    for (const init of seen)
      expect(init).toMatchObject({ credentials: 'omit', referrerPolicy: 'no-referrer' });
  });
});

describe('submit', () => {
  it('sends one report at once and says what became of it', async () => {
    const undertone = await connect();
    const { report, state } = await undertone.submit(RED, 'red', { recordKey: 'record 0' });
    expect(state).toBe('acknowledged');
    expect([...gateway.stored.keys()]).toEqual([Buffer.from(report.id).toString('hex')]);
    expect(await undertone.submit(RED, 'red', { recordKey: 'record 0' })).toEqual({
      report,
      state: 'acknowledged',
    });
    expect(gateway.arrivals).toHaveLength(1);
  });

  it('leaves the report to the next flush where the gateway is away', async () => {
    gateway.moves.push({ status: 500 }, { status: 500 }, 'answer-lost');
    const undertone = await connect();
    const { state, failure } = await undertone.submit(RED, 'red', { recordKey: 'record 0' });
    expect(state).toBe('waiting');
    expect(failure).toMatchObject({ code: 'unreachable' });
    expect(await undertone.flush()).toEqual({ acknowledged: 1, rejected: 0, waiting: 0 });
    await expectSameBytes();
  });
});

it('cuts batches within the bytes of one request, in order', () => {
  const entries = Array.from(
    { length: 40 },
    (_, i) => ({ id: String(i), bytes: new Uint8Array(60_000) }) as OutboxEntry,
  );
  const batches = cutIntoBatches(entries, LIMITS.maximumBatch);
  expect(batches.map((batch) => batch.length)).toEqual([17, 17, 6]);
  expect(batches.flat()).toEqual(entries);
  for (const batch of batches)
    expect(joinReports(batch.map(({ bytes }) => bytes)).length).toBeLessThanOrEqual(LIMITS.maximumBodyBytes);
});

it('whatever the network does, each report is stored once and always has the same bytes', async () => {
  const move = fc.constantFrom<Move>(
    'ok',
    'answer-lost',
    'request-lost',
    'answer-cut',
    'captive-portal',
    { status: 500 },
    { status: 503, retryAfter: '0' },
    { status: 413 },
    { status: 403 },
  );
  const step = fc.oneof(
    fc.record({ kind: fc.constant('privatise' as const), record: fc.nat(12) }),
    fc.record({ kind: fc.constant('submit' as const), record: fc.nat(12) }),
    fc.record({ kind: fc.constant('flush' as const) }),
    fc.record({ kind: fc.constant('restart' as const) }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(move, { maxLength: 25 }),
      fc.array(step, { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 1, max: 5 }),
      async (moves, steps, batch) => {
        gateway.stored.clear();
        gateway.arrivals.length = 0;
        gateway.moves.splice(0, Infinity, ...moves);
        outbox = new MemoryOutbox();
        let seed = 1;
        const start = () =>
          connect({ upload: { batch, concurrency: 2 }, random: new DeterministicRandom(seed++) });
        let undertone = await start();
        const records = new Set<number>();
        for (const s of steps) {
          if (s.kind === 'restart') undertone = await start();
          else if (s.kind === 'flush') await undertone.flush();
          else {
            records.add(s.record);
            await undertone[s.kind](RED, 'red', { recordKey: `record ${s.record}` });
          }
        }
        gateway.moves.length = 0;
        expect((await undertone.flush()).waiting).toBe(0);
        expect(gateway.stored.size).toBe(records.size);
        const firstBytes = new Map<string, string>();
        for (const { id, bytes } of gateway.arrivals) {
          if (!firstBytes.has(id)) firstBytes.set(id, bytes);
          expect(bytes).toBe(firstBytes.get(id));
        }
        expect(firstBytes.size).toBe(records.size);
      },
    ),
    { numRuns: 40 },
  );
});
