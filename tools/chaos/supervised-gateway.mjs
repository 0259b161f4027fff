import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

import { startGateway } from '../bench/collection/gateway-process.mjs';

const RESTART_MS = 200;

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

  /** As a power cut. */
  async kill() {
    await this.#process?.kill();
  }

  /** Asked to stop in order; the supervisor starts it again. */
  async restart() {
    await this.#process?.stop();
  }

  /** Resolves to the exit code of the last process: 0 where it stopped in order. */
  async close() {
    this.#isClosing = true;
    const code = await this.#process?.stop();
    await this.#watching;
    return code;
  }

  async #watch() {
    for (;;) {
      const code = await this.#process.ended;
      const said = code === 0 || code === 'SIGKILL' ? [] : this.#process.said.slice(-5);
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
        this.ends.push({ code: 'not started', said: error.message.split('\n').slice(-5) });
        return undefined;
      });
    }
    if (this.#isClosing) await this.#process?.stop();
  }
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
