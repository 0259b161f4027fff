import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

/** True for a process that exists, whoever owns it. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  return stateOf(pid) !== 'Z';
}

/** What tells a process from a later one that was given the same number; undefined where the system doesn't say. */
export function startOf(pid: number): string | undefined {
  const fields = statOf(pid);
  if (fields !== undefined) return fields[19];
  return inspect(pid, 'lstart=');
}

/** The program that a process runs, as the system names it. */
export function programOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return inspect(pid, 'comm=');
  }
}

/** True once the process is gone; false when it is still there after the time. */
export async function endsWithin(pid: number, milliseconds: number): Promise<boolean> {
  for (const until = Date.now() + milliseconds; isRunning(pid);) {
    if (Date.now() >= until) return false;
    await wait(25);
  }
  return true;
}

// `pid (comm) state ppid …`; comm may hold spaces and brackets.
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

const stateOf = (pid: number): string | undefined => statOf(pid)?.[0];

function inspect(pid: number, field: string): string | undefined {
  try {
    const text = execFileSync('ps', ['-o', field, '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return text.trim() || undefined;
  } catch {
    return undefined;
  }
}
