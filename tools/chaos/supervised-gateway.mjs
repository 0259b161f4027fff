import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

import { startGateway } from '../bench/collection/gateway-process.mjs';

const RESTART_MS = 200;
const LINES_TOLD = 20;

/** A gateway that is started again whenever it ends, at the same address: what a supervisor does in production. */
export class SupervisedGateway {
  #process;
  #watching;
  #isClosing = false;

  /** How each process before the present one ended. */
  ends = [];

  constructor(name, settings) {
    this.name = name;
    this.settings = settings;
    this.url = `http://127.0.0.1:${settings.port}`;
  }

  /** Resolves once it answers for the first time. */
  static async start(name, settings) {
    const gateway = new SupervisedGateway(name, { ...settings, port: await freePort() });
    gateway.#process = await startGateway(gateway.settings);
    gateway.#watching = gateway.#watch();
    return gateway;
  }

  /** Undefined while none runs. */
  get pid() {
    return this.#process?.pid;
  }

  /** As a power cut; waits for one that is being started. */
  async kill() {
    await (await this.#running()).kill();
  }

  /** Asked to stop in order; the supervisor starts it again. Waits for one that is being started. */
  async restart() {
    await (await this.#running()).stop();
  }

  /** Resolves to the exit code of the last process: 0 where it stopped in order. */
  async close() {
    this.#isClosing = true;
    const code = await this.#process?.stop();
    await this.#watching;
    return code;
  }

  async #running() {
    while (this.#process === undefined) await pause(10);
    return this.#process;
  }

  async #watch() {
    for (;;) {
      const code = await this.#process.ended;
      const said = code === 0 || code === 'SIGKILL' ? [] : tellingLines(this.#process.said);
      this.#process = undefined;
      if (this.#isClosing) return;
      this.ends.push({ code, ...(said.length > 0 ? { said } : {}) });
      await this.#startAgain();
      if (this.#process === undefined) return;
    }
  }

  async #startAgain() {
    while (!this.#isClosing && this.#process === undefined) {
      await pause(RESTART_MS);
      this.#process = await startGateway(this.settings).catch((error) => {
        this.ends.push({ code: 'not started', said: tellingLines(error.message.split('\n')) });
        return undefined;
      });
    }
    if (this.#isClosing) await this.#process?.stop();
  }
}

/** Where an error is among the lines, its beginning; else the end. */
function tellingLines(lines) {
  const error = lines.findIndex((line) => /error/i.test(line));
  return error < 0 ? lines.slice(-LINES_TOLD) : lines.slice(error, error + LINES_TOLD);
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
