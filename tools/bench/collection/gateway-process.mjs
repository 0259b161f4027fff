import { spawn } from 'node:child_process';
import path from 'node:path';
import readline from 'node:readline';

import { root } from './packages.mjs';

const PROGRAM = path.join(root, 'apps', 'collection-gateway', 'dist', 'main.js');

/**
 * Starts the built gateway and resolves once it answers.
 *
 * @param {{ databaseUrl: string, brokers?: string[], parts?: string, port?: number, variables?: Record<string, string> }} settings
 *   without brokers, the report log is PostgreSQL's; `parts` as in UNDERTONE_GATEWAY_PARTS
 */
export function startGateway({ databaseUrl, brokers, parts, port = 0, variables = {} }) {
  const child = spawn(process.execPath, [PROGRAM], {
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      UNDERTONE_PORT: String(port),
      UNDERTONE_LOG_LEVEL: 'error',
      ...(brokers === undefined ? {} : { KAFKA_BROKERS: brokers.join(',') }),
      ...(parts === undefined ? {} : { UNDERTONE_GATEWAY_PARTS: parts }),
      ...variables,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = [];
  const keep = (line) => void (said.push(line) > 200 && said.shift());
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
  const end = async (signal) => {
    child.kill(signal);
    return ended;
  };
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    void ended.then((code) => reject(new Error(`the gateway ended with ${code}:\n${said.join('\n')}`)));
    readline.createInterface({ input: child.stderr }).on('line', keep);
    readline.createInterface({ input: child.stdout }).on('line', (line) => {
      keep(line);
      const url = /answers at (http:\S+)/.exec(line)?.[1];
      if (url === undefined) return;
      resolve({
        url,
        pid: child.pid,
        /** Resolves to the exit code, or to the signal that ended it. */
        ended,
        /** Its last lines. */
        said,
        /** Asks it to stop. */
        stop: () => end('SIGTERM'),
        /** As a power cut would end it. */
        kill: () => end('SIGKILL'),
        /** Takes the processor from it, until `release`. */
        hold: () => child.kill('SIGSTOP'),
        release: () => child.kill('SIGCONT'),
      });
    });
  });
}
