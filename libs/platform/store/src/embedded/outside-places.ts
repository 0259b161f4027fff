import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Where root keeps what the server's account must be able to enter. */
export const SHARED_FOLDER = '/var/lib/undertone';
const TEMPORARY_FOLDER = path.join(tmpdir(), 'undertone-data');
const YOUNG_MS = 60_000;

/**
 * A new place outside a home for its data. That of a temporary home is temporary too, and is removed by a later start once its home
 * is gone; other data is never removed.
 */
export function placeFor(home: string): string {
  const isTemporary = home.startsWith(`${tmpdir()}${path.sep}`);
  const folder = isTemporary ? TEMPORARY_FOLDER : path.join(SHARED_FOLDER, 'data');
  if (isTemporary) removeForsaken(folder);
  const place = path.join(folder, randomBytes(8).toString('hex'));
  mkdirSync(place, { recursive: true, mode: 0o755 });
  writeFileSync(path.join(place, 'home'), home);
  return path.join(place, 'cluster');
}

function removeForsaken(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const place = path.join(folder, name);
    try {
      const home = readFileSync(path.join(place, 'home'), 'utf8');
      const isYoung = Date.now() - statSync(place).mtimeMs < YOUNG_MS;
      if (!isYoung && !pointsTo(path.join(home, 'postgres'), place))
        rmSync(place, { recursive: true, force: true });
    } catch {
      // being made or removed by another process
    }
  }
}

function pointsTo(link: string, place: string): boolean {
  try {
    return path.dirname(realpathSync(link)) === realpathSync(place);
  } catch {
    return false;
  }
}
