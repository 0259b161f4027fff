// Work in a process of its own: each line of its standard input is one work, each line of its standard output the answer.
import { spawn } from 'node:child_process';
import readline from 'node:readline';

/**
 * Starts a script that calls `serveWork`.
 *
 * @param {string} script
 * @param {string[]} args
 * @returns {{ pid: number, ask: (work: object) => Promise<any>, stop: () => Promise<void> }} ask one thing at a time
 */
export function startWorker(script, args = []) {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    pid: child.pid,
    ask: async (work) => {
      child.stdin.write(`${JSON.stringify(work)}\n`);
      const { value } = await lines.next();
      if (value === undefined)
        throw new Error(`${script} ended with ${await ended} amid ${work.kind ?? 'a work'}`);
      const answer = JSON.parse(value);
      if (answer.failed !== undefined) throw new Error(answer.failed);
      return answer;
    },
    stop: async () => {
      child.stdin.end();
      await ended;
    },
  };
}

/** Answers works until standard input ends, then calls `close`. @param {(work: any) => Promise<object>} carryOut */
export async function serveWork(carryOut, close = async () => {}) {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const answer = await carryOut(JSON.parse(line)).catch((error) => ({ failed: error.stack }));
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
  await close();
}
