// Ends brokers whose launcher is gone, whatever ended it: the launcher holds the other end of standard input.
//   node guard.mjs [FOLDER]     FOLDER is removed then, too
// Lines: `watch PID`, `forget PID`, `done` (the launcher has seen to everything itself).
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { endsWithin } from './running-process.mjs';

const file = fileURLToPath(import.meta.url);

/** Starts the guard of one cluster. `discard` names a folder that dies with the launcher. */
export function startGuard(discard) {
  const child = spawn(process.execPath, [file, ...(discard === undefined ? [] : [discard])], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  child.on('error', () => undefined);
  child.stdin.on('error', () => undefined);
  child.unref();
  child.stdin.unref();
  const say = (line) => child.stdin.write(`${line}\n`);
  return {
    watch: (pid) => say(`watch ${pid}`),
    forget: (pid) => say(`forget ${pid}`),
    done: () => {
      say('done');
      child.stdin.end();
    },
  };
}

async function stand(discard) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
  const watched = new Set();
  for await (const line of createInterface({ input: process.stdin })) {
    const [verb, pid] = line.split(' ');
    if (verb === 'watch') watched.add(Number(pid));
    else if (verb === 'forget') watched.delete(Number(pid));
    else if (verb === 'done') return;
  }
  for (const pid of watched) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  }
  await Promise.all([...watched].map((pid) => endsWithin(pid, 10_000)));
  if (discard !== undefined) rmSync(discard, { recursive: true, force: true });
}

if (path.resolve(process.argv[1] ?? '') === file) {
  await stand(process.argv[2]);
  process.exit(0);
}
