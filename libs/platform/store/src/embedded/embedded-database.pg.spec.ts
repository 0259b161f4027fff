import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { EmbeddedDatabase, type EmbeddedDatabaseSettings } from './embedded-database';
import { placeFor } from './outside-places';
import { endsWithin, isRunning } from './running-process';
import { firstClosedFolder, serverAccount } from './server-account';

const TOOLS = path.resolve(__dirname, '../../../../../tools');
const OWNER = path.resolve(__dirname, '../../testing/database-owner.ts');
const asRoot = process.getuid?.() === 0;

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

jest.setTimeout(60_000); // each spec starts servers, on a machine that may be busy

describe('EmbeddedDatabase', () => {
  let started: string;
  let home: string;
  let running: EmbeddedDatabase[];
  let owners: ChildProcess[];

  beforeAll(async () => {
    started = makeHome();
    await (await EmbeddedDatabase.start({ home: started, durability: 'until-power-fails' })).stop();
  });
  afterAll(() => rmSync(started, { recursive: true, force: true }));
  beforeEach(() => {
    home = makeHome();
    running = [];
    owners = [];
  });
  afterEach(async () => {
    for (const owner of owners) owner.kill('SIGKILL');
    await Promise.all(running.map((database) => database.stop()));
    rmSync(realpathIfThere(path.join(home, 'postgres')), { recursive: true, force: true });
    rmSync(home, { recursive: true, force: true });
  });

  /** Makes the home one that has been started before; quicker than starting it. */
  const startedBefore = (): void => void execFileSync('cp', ['-a', `${started}/.`, home]);
  const start = async (settings: Partial<EmbeddedDatabaseSettings> = {}): Promise<EmbeddedDatabase> => {
    const database = await EmbeddedDatabase.start({ home, durability: 'until-power-fails', ...settings });
    running.push(database);
    return database;
  };
  /** Another process that owns the database of the home. */
  const startOwner = async (): Promise<{ owner: ChildProcess; url?: string; error?: string }> => {
    const owner = spawn(process.execPath, ['--require', path.join(TOOLS, 'typescript.cjs'), OWNER, home], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    owners.push(owner);
    const line = await new Promise<string>((resolve) => createInterface(owner.stdout!).once('line', resolve));
    return { owner, ...(JSON.parse(line) as { url?: string; error?: string }) };
  };
  const serverPid = (): number =>
    Number(readFileSync(path.join(home, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);

  it('keeps its data over a restart, and its password to its owner', async () => {
    const first = await start({ durability: 'full' });
    expect(await query(first.url, 'SHOW fsync')).toEqual([{ fsync: 'on' }]);
    expect(await query(first.url, 'SHOW synchronous_commit')).toEqual([{ synchronous_commit: 'on' }]);
    expect(await query(first.url, 'SHOW log_error_verbosity')).toEqual([{ log_error_verbosity: 'terse' }]);
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS x');
    await first.stop();
    const second = await start();
    expect(await query(second.url, 'SELECT x FROM kept')).toEqual([{ x: 42 }]);
    expect(statSync(path.join(home, 'postgres.password')).mode & 0o777).toBe(0o600);
    expect(new URL(second.url).hostname).toBe('127.0.0.1');
    await expect(query(second.url.replace(/:[^:@]+@/, ':guess@'), 'SELECT 1')).rejects.toMatchObject({
      code: '28P01',
    });
  });

  it('belongs to one process at a time', async () => {
    startedBefore();
    const { owner } = await startOwner();
    await expect(start()).rejects.toMatchObject({
      code: 'data-folder-in-use',
      message: expect.stringContaining(`belongs to process ${owner.pid}, which is running`),
    });
    const other = await startOwner();
    expect(other.error).toContain(`belongs to process ${owner.pid}`);
  });

  it('stops when its owner is killed, and starts again with the data', async () => {
    startedBefore();
    const { owner, url } = await startOwner();
    await query(url!, 'CREATE TABLE kept AS SELECT 1 AS x');
    const pid = serverPid();
    owner.kill('SIGKILL');
    expect(await endsWithin(pid, 5_000)).toBe(true);
    const database = await start();
    expect(await query(database.url, 'SELECT x FROM kept')).toEqual([{ x: 1 }]);
  });

  it('starts at once after its owner is killed, while the old server is still stopping', async () => {
    startedBefore();
    const { owner, url } = await startOwner();
    const busy = query(url!, 'SELECT pg_sleep(30)').catch(() => undefined);
    owner.kill('SIGKILL');
    await new Promise((resolve) => owner.once('exit', resolve));
    const database = await start();
    expect(await query(database.url, 'SELECT 1 AS x')).toEqual([{ x: 1 }]);
    await busy;
  });

  it('stops a server that outlived its owner and its guard', async () => {
    startedBefore();
    const notices: string[] = [];
    const { owner } = await startOwner();
    const pid = serverPid();
    const guard = Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')[1]);
    for (const watch of childrenOf(guard).filter((child) => child !== pid)) process.kill(watch, 'SIGKILL');
    process.kill(guard, 'SIGKILL');
    process.kill(pid, 'SIGSTOP'); // as a process that a debugger or a full terminal holds
    owner.kill('SIGKILL');
    await new Promise((resolve) => owner.once('exit', resolve));
    expect(isRunning(pid)).toBe(true);
    const database = await start({ onNotice: (line) => notices.push(line) });
    expect(isRunning(pid)).toBe(false);
    expect(notices.join()).toContain(`(process ${pid}) that an earlier run left behind`);
    expect(await query(database.url, 'SELECT 1 AS x')).toEqual([{ x: 1 }]);
  });

  it('is not held up by the pid file of a server that is gone, whoever has its number now', async () => {
    startedBefore();
    const file = path.join(home, 'postgres', 'postmaster.pid');
    writeFileSync(file, `${process.pid}\n${path.join(home, 'postgres')}\n0\n5432\n\n127.0.0.1\n`);
    const database = await start();
    expect(await query(database.url, 'SELECT 1 AS x')).toEqual([{ x: 1 }]);
    expect(serverPid()).not.toBe(process.pid);
  });

  it('begins anew after an initialisation that was cut off', async () => {
    mkdirSync(path.join(home, 'postgres.initialising', 'cluster'), { recursive: true });
    writeFileSync(path.join(home, 'postgres.initialising', 'cluster', 'PG_VERSION'), '18');
    expect(await query((await start()).url, 'SELECT 1 AS x')).toEqual([{ x: 1 }]);
    expect(existsSync(path.join(home, 'postgres.initialising'))).toBe(false);
  });

  it('tells its owner when the server ends by itself', async () => {
    startedBefore();
    let told: (error: Error) => void = () => undefined;
    const ended = new Promise<Error>((resolve) => (told = resolve));
    await start({ onUnexpectedEnd: told });
    process.kill(serverPid(), 'SIGKILL');
    expect(await ended).toMatchObject({
      code: 'database-unreachable',
      message: expect.stringContaining('postgres.log'),
    });
  });

  it('says nothing of an end that was asked for, and stops once', async () => {
    startedBefore();
    let surprise = false;
    const database = await start({ onUnexpectedEnd: () => (surprise = true) });
    await Promise.all([database.stop(), database.stop()]);
    await database.stop();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(surprise).toBe(false);
  });

  it('names a home that is a file', async () => {
    const file = path.join(home, 'file');
    writeFileSync(file, '');
    await expect(start({ home: file })).rejects.toMatchObject({
      code: 'data-folder-not-writable',
      message: expect.stringMatching(/file can't be written.*UNDERTONE_HOME/),
    });
  });

  it('names a home that is read-only', async () => {
    chmodSync(home, 0o555);
    if (asRoot) process.seteuid!(65_534); // root may write everywhere
    try {
      await expect(start()).rejects.toMatchObject({
        code: 'data-folder-not-writable',
        message: expect.stringContaining(home),
      });
    } finally {
      if (asRoot) process.seteuid!(0);
      chmodSync(home, 0o755);
    }
  });

  it('names a password that is gone, and a folder of another version', async () => {
    startedBefore();
    const password = readFileSync(path.join(home, 'postgres.password'), 'utf8');
    rmSync(path.join(home, 'postgres.password'));
    await expect(start()).rejects.toMatchObject({ code: 'password-missing' });
    writeFileSync(path.join(home, 'postgres.password'), 'wrong');
    await expect(start()).rejects.toMatchObject({
      code: 'server-did-not-start',
      message: expect.stringContaining('it refuses our password'),
    });
    writeFileSync(path.join(home, 'postgres.password'), password);
    writeFileSync(path.join(home, 'postgres', 'PG_VERSION'), '12\n');
    await expect(start()).rejects.toMatchObject({
      code: 'data-folder-of-other-version',
      message: expect.stringContaining('was made by PostgreSQL 12'),
    });
  });

  it('shows why the server does not start', async () => {
    startedBefore();
    writeFileSync(path.join(home, 'postgres', 'postgresql.auto.conf'), "shared_buffers = 'much'\n");
    await expect(start()).rejects.toMatchObject({
      code: 'server-did-not-start',
      message: expect.stringContaining('invalid value for parameter "shared_buffers"'),
    });
  });

  it('leaves a folder alone that holds something else', async () => {
    mkdirSync(path.join(home, 'postgres'));
    writeFileSync(path.join(home, 'postgres', 'diary.txt'), 'dear diary');
    await expect(start()).rejects.toMatchObject({ code: 'not-our-database' });
    expect(readFileSync(path.join(home, 'postgres', 'diary.txt'), 'utf8')).toBe('dear diary');
  });

  (asRoot ? describe : describe.skip)('run by root', () => {
    it('keeps its data where the account of the server can enter when it can not enter the home', async () => {
      chmodSync(home, 0o700);
      const notices: string[] = [];
      await query((await start({ onNotice: (line) => notices.push(line) })).url, 'CREATE TABLE kept ()');
      expect(notices).toEqual([expect.stringContaining(`can't enter ${home}`)]);
      await running[0].stop();
      const place = path.dirname(realpathSync(path.join(home, 'postgres')));
      expect(path.dirname(place)).toBe(path.join(tmpdir(), 'undertone-data'));
      expect(await query((await start()).url, 'SELECT * FROM kept')).toEqual([]);
      await running[1].stop();

      // Data of a temporary home goes when another such home is started after it is gone, and not before.
      const longAgo = new Date(Date.now() - 3_600_000);
      utimesSync(place, longAgo, longAgo);
      placeFor(home);
      expect(existsSync(place)).toBe(true);
      rmSync(home, { recursive: true });
      placeFor(home);
      expect(existsSync(place)).toBe(false);
    });

    it('knows the first folder on a way that the account of the server can not enter', async () => {
      const account = (await serverAccount())!;
      const closed = path.join(home, 'closed');
      mkdirSync(closed, { mode: 0o700 });
      expect(firstClosedFolder(path.join(closed, 'native', 'bin'), account)).toBe(closed);
      chmodSync(closed, 0o711);
      mkdirSync(path.join(closed, 'native', 'bin'), { recursive: true });
      expect(firstClosedFolder(path.join(closed, 'native', 'bin'), account)).toBeUndefined();
    });

    it('names the folder that was closed later', async () => {
      startedBefore();
      chmodSync(home, 0o700);
      await expect(start()).rejects.toMatchObject({
        code: 'data-folder-not-enterable',
        message: expect.stringContaining(`chmod o+x ${home}`),
      });
    });
  });
});

function makeHome(): string {
  const home = mkdtempSync(path.join(tmpdir(), 'undertone-embedded-'));
  chmodSync(home, 0o755);
  return home;
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
}

function realpathIfThere(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
