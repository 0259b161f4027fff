import { InputError } from '@undertone/artifact';
import { LaplaceL1 } from '@undertone/ldp';
import { DeterministicRandom } from '@undertone/ldp/testing';
import { encodeReport, type TaskDocument } from '@undertone/protocol';
import { ScriptedGateway } from '../testing/scripted-gateway';
import { smallTask } from '../testing/small-task';
import { type ConnectOptions, MemoryOutbox, Undertone, type UndertoneError } from './index';

const { task, file, trustedKeys } = smallTask();
const RED = [255, 0];

let gateway: ScriptedGateway;

beforeEach(async () => {
  gateway = await ScriptedGateway.start(task, file);
});

afterEach(() => gateway.stop());

const connect = (over: Partial<ConnectOptions> = {}) =>
  Undertone.connect({
    url: gateway.url,
    task: task.name,
    trustedKeys,
    maximumEpsilon: 2,
    random: new DeterministicRandom(5),
    retry: { attempts: 3, firstDelayMs: 1, requestTimeoutMs: 2000 },
    ...over,
  });

const failure = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
  } catch (error) {
    const { code, message } = error as UndertoneError;
    return `${code}: ${message}`;
  }
  throw new Error('expected a failure');
};

describe('connecting', () => {
  it('fetches task and artifact, below a path too', async () => {
    const undertone = await connect();
    expect(undertone.task).toEqual(task);
    expect(undertone.artifact.id).toBe(task.artifact);
    expect(gateway.paths).toEqual(['GET /v1/tasks/colours', `GET /v1/artifacts/${task.artifact}`]);
    await failure(connect({ url: `${gateway.url}/behind/proxy` }));
    expect(gateway.paths[2]).toBe('GET /behind/proxy/v1/tasks/colours');
  });

  it('rides out a gateway that fails for a while', async () => {
    gateway.readMoves.push('request-lost', { status: 502 }, 'ok', { status: 429, retryAfter: '0' }, 'ok');
    await connect();
    expect(gateway.paths).toHaveLength(5);
  });

  it.each<[string, Partial<TaskDocument>, RegExp]>([
    [
      'a closed task',
      { status: 'closed', closesAt: '2026-02-01T00:00:00.000Z' },
      /^closed-task: task colours is closed at 2026-02-01/,
    ],
    [
      'a scheduled task',
      { status: 'scheduled', opensAt: '2030-01-01T00:00:00.000Z' },
      /^scheduled-task: task colours is not open yet: it opens at 2030-01-01/,
    ],
    ['another ε than the artifact’s', { epsilon: 1 }, /^task-mismatch: .*ε = 1, the artifact 2/],
    ['other labels', { labels: ['green', 'red', 'blue'] }, /^task-mismatch: .*labels green, red, blue/],
    ['another signer', { signer: '0'.repeat(64) }, /^task-mismatch: .*signer 0000/],
    ['another name', { name: 'shapes' }, /^unknown-task: there is no task colours: says unknown-task/],
  ])('refuses %s', async (_, over, expected) => {
    gateway.task = { ...task, ...over };
    expect(await failure(connect())).toMatch(expected);
  });

  it('refuses a document of another task or form', async () => {
    const answer = (body: string) =>
      failure(connect({ fetch: async () => new Response(body, { status: 200 }) }));
    expect(await answer(JSON.stringify({ ...task, name: 'shapes' }))).toMatch(
      /^unexpected-answer: .*task colours$/,
    );
    expect(await answer(JSON.stringify({ ...task, labels: 3 }))).toMatch(
      /^unexpected-answer: .*task colours: labels /,
    );
    expect(await answer('<html>')).toMatch(/^unexpected-answer: the answer is no document of task colours/);
  });

  it('refuses a claim above what the app allows', async () => {
    expect(await failure(connect({ maximumEpsilon: 1.99 }))).toBe(
      'epsilon-exceeded: the artifact of task colours spends ε = 2 on a record; this app allows at most 1.99',
    );
  });

  it('refuses an artifact that is damaged, of another signer, or another one', async () => {
    expect(await failure(connect({ trustedKeys: ['1'.repeat(64)] }))).toMatch(/^untrusted-signer/);
    expect(await failure(connect({ trustedKeys: [] }))).toMatch(/^untrusted-signer/);
    gateway.file = file.map((byte, i) => (i === file.length - 100 ? byte ^ 1 : byte));
    expect(await failure(connect())).toMatch(/^damaged/);
    gateway.file = file;
    gateway.task = { ...task, artifact: '0'.repeat(64) };
    expect(await failure(connect())).toMatch(/^wrong-id/);
  });

  it('says so where an artifact is missing', async () => {
    gateway.readMoves.push('ok', { status: 404, problem: 'unknown-artifact' });
    expect(await failure(connect())).toMatch(
      /^unexpected-answer: artifact .* can't be fetched: the answer was 404, unknown-artifact: says/,
    );
  });

  it.each<[string, Partial<ConnectOptions>, RegExp]>([
    ['a task name', { task: 'My task' }, /^invalid-option: task is "My task": it must be 1 to 64/],
    ['a URL', { url: 'ftp://example.org' }, /^invalid-option: url is ftp:/],
    ['no URL', { url: 'example' }, /^invalid-option: url is example/],
    ['ε', { maximumEpsilon: 0 }, /^invalid-option: maximumEpsilon is 0/],
    ['ε that is NaN', { maximumEpsilon: NaN }, /^invalid-option: maximumEpsilon is NaN/],
    ['a batch', { upload: { batch: 1001 } }, /^invalid-option: upload.batch is 1001: .* from 1 to 1000/],
    [
      'a signer',
      { trustedKeys: 'any-signer' as unknown as string[] },
      /^invalid-option: trustedKeys must be a list of the keys/,
    ],
    ['a concurrency', { upload: { concurrency: 0 } }, /^invalid-option: upload.concurrency is 0/],
    [
      'a number of tries',
      { retry: { attempts: 0 } },
      /^invalid-option: retry.attempts is 0: it must be at least 1/,
    ],
  ])('refuses %s that can’t be', async (_, over, expected) => {
    expect(await failure(connect(over))).toMatch(expected);
    expect(gateway.paths).toEqual([]);
  });

  it('gives up on a gateway that is gone, and on one that is silent', async () => {
    gateway.readMoves.push('hang', 'hang');
    const retry = { attempts: 2, firstDelayMs: 1, requestTimeoutMs: 50 };
    expect(await failure(connect({ retry }))).toMatch(
      /^unreachable: GET http.*: no answer: .*timeout.* \(2 of 2 tries\)/,
    );
    await gateway.stop();
    expect(await failure(connect({ retry }))).toMatch(/^unreachable: .*ECONNREFUSED/);
    gateway = await ScriptedGateway.start(task, file);
  });

  it('stops when it is cancelled, within a request and within a wait', async () => {
    gateway.readMoves.push('hang', { status: 503, retryAfter: '20' });
    for (let i = 0; i < 2; i++) {
      const stop = new AbortController();
      setTimeout(() => stop.abort(), 50);
      expect(await failure(connect({ signal: stop.signal }))).toBe('cancelled: the request was cancelled');
    }
  });
});

describe('privatising', () => {
  it('draws from the artifact’s randomiser, over the encoded record', async () => {
    const undertone = await connect();
    const labels = [0, 0, 0];
    const mean = [0, 0];
    const n = 3000;
    for (let i = 0; i < n; i++) {
      const { payload } = await undertone.privatise([255, 102], 'green');
      const { representation, label } = undertone.artifact.randomiser.factors!.split(payload);
      LaplaceL1.decode(representation).forEach((value, j) => (mean[j] += value / n));
      labels[label[0]]++;
    }
    // Laplace noise of scale Δ/ε = 2 · radius/1 has deviation 2√2.
    const z = undertone.artifact.encode(undertone.artifact.vectorise([255, 102]));
    const tolerance = (6 * 2 * Math.SQRT2) / Math.sqrt(n);
    expect(Math.abs(mean[0] - z[0])).toBeLessThan(tolerance);
    expect(Math.abs(mean[1] - z[1])).toBeLessThan(tolerance);
    // k-RR at ε = 1 keeps one of three labels with probability e/(e + 2).
    expect(Math.abs(labels[1] / n - Math.E / (Math.E + 2))).toBeLessThan(6 * Math.sqrt(0.25 / n));
  });

  it('takes a label by name or by index', async () => {
    const [a, b] = await Promise.all([connect(), connect()]);
    expect(await a.privatise(RED, 'blue', { recordKey: 'k' })).toEqual(
      await b.privatise(RED, 2, { recordKey: 'k' }),
    );
  });

  it('gives a record its one report, whatever comes with the key later', async () => {
    const undertone = await connect();
    const first = await undertone.privatise(RED, 'red', { recordKey: 'a' });
    expect(await undertone.privatise(RED, 'red', { recordKey: 'a' })).toEqual(first);
    expect(await undertone.privatise([1, 2], 'blue', { recordKey: 'a' })).toEqual(first);
    expect(await undertone.privatise(RED, 'red', { recordKey: 'b' })).not.toEqual(first);
    expect(await undertone.privatise(RED, 'red')).not.toEqual(await undertone.privatise(RED, 'red'));
  });

  it('draws one report for calls at the same time', async () => {
    const undertone = await connect();
    const reports = await Promise.all(
      Array.from({ length: 20 }, () => undertone.privatise(RED, 'red', { recordKey: 'a' })),
    );
    expect(new Set(reports.map(({ id }) => Buffer.from(id).toString('hex'))).size).toBe(1);
    expect((await undertone.flush()).acknowledged).toBe(1);
  });

  it('gives the same report after it was sent and after a restart', async () => {
    const outbox = new MemoryOutbox();
    const before = await connect({ outbox });
    const report = await before.privatise(RED, 'red', { recordKey: 'a' });
    await before.flush();
    const after = await connect({ outbox, random: new DeterministicRandom(6) });
    expect(await after.privatise(RED, 'red', { recordKey: 'a' })).toEqual(report);
    expect(await after.flush()).toEqual({ acknowledged: 0, rejected: 0, waiting: 0 });
  });

  it('sends the bytes that were drawn, whatever the app does to its report', async () => {
    const undertone = await connect();
    gateway.moves.push('request-lost', 'request-lost', 'request-lost');
    const { report, state } = await undertone.submit(RED, 'red', { recordKey: 'a' });
    expect(state).toBe('waiting');
    const drawn = encodeReport(report);
    report.payload.fill(0);
    expect(encodeReport(await undertone.privatise(RED, 'red', { recordKey: 'a' }))).toEqual(drawn);
    await undertone.flush();
    expect([...gateway.stored.values()]).toEqual([drawn]);
  });

  it('won’t report a record to a second task under the same artifact', async () => {
    const outbox = new MemoryOutbox();
    await (await connect({ outbox })).privatise(RED, 'red', { recordKey: 'a' });
    gateway.task = { ...task, name: 'shades' };
    const second = await connect({ outbox, task: 'shades' });
    expect(await failure(second.privatise(RED, 'red', { recordKey: 'a' }))).toMatch(
      /^reported-elsewhere: record a was reported to task colours/,
    );
    expect((await second.flush()).acknowledged).toBe(0);
  });

  it('remembers before it answers, and draws nothing for a bad record', async () => {
    const outbox = new MemoryOutbox();
    const undertone = await connect({ outbox });
    for (const [record, label] of [
      [[1], 'red'],
      [[1, NaN], 'red'],
      [RED, 'mauve'],
      [RED, 3],
      [RED, -1],
      [RED, 0.5],
    ] as const)
      await failure(undertone.privatise(record, label, { recordKey: 'a' }));
    expect(await outbox.waiting('colours')).toEqual([]);
    const report = await undertone.privatise(RED, 'red', { recordKey: 'a' });
    expect(await outbox.find('a', task.artifact)).toEqual({
      recordKey: 'a',
      artifact: task.artifact,
      task: 'colours',
      id: Buffer.from(report.id).toString('hex'),
      bytes: encodeReport(report),
      state: 'waiting',
    });
    expect(gateway.arrivals).toEqual([]);
  });

  it('names the rule that a label, record or key breaks, never the label', async () => {
    const undertone = await connect();
    expect(await failure(undertone.privatise(RED, 3))).toBe(
      'unknown-label: the label is out of range: task colours has labels 0 to 2',
    );
    expect(await failure(undertone.privatise(RED, 'mauve'))).toBe(
      'unknown-label: the label is unknown: task colours has "red", "green", "blue"',
    );
    expect(await failure(undertone.privatise(RED, 'red', { recordKey: '' }))).toMatch(
      /^invalid-option: recordKey is empty/,
    );
    await expect(undertone.privatise([1, 2, 3], 'red')).rejects.toBeInstanceOf(InputError);
    expect(await failure(undertone.privatise([1, 2, 3], 'red'))).toMatch(/^wrong-dimension/);
    expect(await failure(undertone.privatise([1, 300], 'red'))).toMatch(/^out-of-range/);
    expect(await failure(undertone.privatise([1, NaN], 'red'))).toMatch(/^not-a-number/);
  });

  it('sends nothing where the outbox can’t remember', async () => {
    const outbox = new MemoryOutbox();
    outbox.keep = async () => {
      throw new Error('disk full');
    };
    const undertone = await connect({ outbox });
    await expect(undertone.submit(RED, 'red')).rejects.toThrow('disk full');
    expect(gateway.arrivals).toEqual([]);
  });
});
