import { spawn } from 'node:child_process';

/**
 * Runs a command to its end and answers what it printed; rejects with its output's last lines. It ends with this process, its
 * own children too, and after `limitMs`.
 */
export function command(program, args, { env = process.env, cwd, limitMs }) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let output = '';
    let late = false;
    const stop = () => {
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        child.kill('SIGKILL');
      }
    };
    const limit = setTimeout(() => {
      late = true;
      stop();
    }, limitMs);
    process.once('exit', stop);
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    const settle = (failure) => {
      clearTimeout(limit);
      process.removeListener('exit', stop);
      if (failure === undefined) resolve(output);
      else reject(new Error(failure));
    };
    child.on('error', (error) =>
      settle(error.code === 'ENOENT' ? `${program} was not found` : error.message),
    );
    child.on('close', (code, signal) => {
      if (late) settle(`${program} was not done after ${limitMs / 1000} s`);
      else settle(code === 0 ? undefined : lastLines(output) || `${program} ended with ${signal ?? code}`);
    });
  });
}

/** The last lines that say something, on one line. */
export const lastLines = (text, count = 4) =>
  text
    .split('\n')
    .map((line) => line.trim().replace(/^\[ERROR\]\s*/, ''))
    .filter((line) => line !== '' && !/^at /.test(line))
    .slice(-count)
    .join(' | ')
    .slice(-800);
