import { execFile, spawnSync } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { reasonOf, StoreError } from '../store-error';

const run = promisify(execFile);
const ACCOUNT = 'postgres';

/** The system account that the server runs under when we are root. */
export interface ServerAccount {
  readonly uid: number;
  readonly gid: number;
}

/**
 * PostgreSQL refuses to run as root, so root runs it as the account `postgres`, which is made when missing.
 * @returns undefined for an ordinary user, who runs the server as themself.
 * @throws StoreError 'account-missing'
 */
export async function serverAccount(): Promise<ServerAccount | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const known = await lookUp();
  if (known !== undefined) return known;
  let failure: unknown;
  try {
    await run('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/bin/false', ACCOUNT]);
  } catch (error) {
    failure = error;
  }
  const made = await lookUp();
  if (made !== undefined) return made;
  throw new StoreError(
    'account-missing',
    `PostgreSQL refuses to run as root, and the account "${ACCOUNT}" to run it under can't be made: ${reasonOf(failure)}. ` +
      'Start as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own.',
  );
}

async function lookUp(): Promise<ServerAccount | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', ACCOUNT]), run('id', ['-g', ACCOUNT])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}

/** The first of a folder and its parents, from the root down, that the account can't enter. */
export function firstClosedFolder(folder: string, account: ServerAccount): string | undefined {
  const chain: string[] = [];
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    chain.unshift(at);
    if (at === path.dirname(at)) break;
  }
  const script = 'for d in "$@"; do cd "$d" 2>/dev/null || { printf %s "$d"; exit 0; }; done';
  const { stdout } = spawnSync('/bin/sh', ['-c', script, 'sh', ...chain], {
    ...account,
    cwd: '/',
    env: {},
    encoding: 'utf8',
  });
  return stdout || undefined;
}
