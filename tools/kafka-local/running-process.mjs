import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

/** True for a process that exists and has not ended, whoever owns it. */
export function isRunning(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code !== 'EPERM') return false;
  }
  return statOf(pid)?.[0] !== 'Z';
}

/** Tells a process from a later one of the same number; undefined where the system doesn't say. */
export const startOf = (pid) => statOf(pid)?.[19] ?? inspect(pid, 'lstart=');

/** The whole command line, or undefined. */
export function commandLineOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return inspect(pid, 'args=');
  }
}

/** True once the process is gone; false when it is still there after the time. */
export async function endsWithin(pid, milliseconds) {
  for (const until = Date.now() + milliseconds; isRunning(pid);) {
    if (Date.now() >= until) return false;
    await wait(25);
  }
  return true;
}

// `pid (comm) state ppid …`; comm may hold spaces and brackets.
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

function inspect(pid, field) {
  try {
    return execFileSync('ps', ['-ww', '-o', field, '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}
