import { spawn } from 'node:child_process';
import path from 'node:path';

const PROGRAM = path.resolve(__dirname, '..', 'bin', 'undertone.js');

export interface Ended {
  code: number;
  out: string;
  err: string;
}

/** Runs the built command in a process of its own. */
export function undertone(args: string[], environment: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [PROGRAM, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...environment },
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (d) => (out += d));
    child.stderr.on('data', (d) => (err += d));
    child.on('close', (code) => resolve({ code: code ?? -1, out, err }));
  });
}
