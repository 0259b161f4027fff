import { setTimeout as sleep } from 'node:timers/promises';

import { valueOf } from './payload.mjs';

const PAUSE_AFTER_REFUSAL_MS = 100;
const PARALLEL = 4;

/**
 * Sends numbered messages steadily until stopped, laid out as `pattern` says. A refused send isn't sent again: its numbers
 * are neither acknowledged nor missing.
 */
export class Sending {
  #producer;
  #options;
  #stopped = false;
  #lanes;
  #partitions;
  #errors = {};
  #inFlight = new Set();

  /**
   * @param {import('./drivers/driver.mjs').Producer} producer
   * @param {{ pattern: string, partitions: number, messages: number, everyMs: number }} options
   *   messages: of one send; everyMs: a lane sends at most so often, 0: again at once
   */
  constructor(producer, options) {
    this.#producer = producer;
    this.#options = options;
    const all = Array.from({ length: options.partitions }, (_, partition) => partition);
    this.#partitions = all.map(() => ({ next: 0, acked: [], ackedAt: [], refused: [] }));
    const lanes = options.pattern === 'spanning' ? [all] : all.map((partition) => [partition]);
    const copies = options.pattern === 'parallel' ? PARALLEL : 1;
    this.#lanes = lanes.flatMap((lane) => Array.from({ length: copies }, () => this.#send(lane)));
  }

  /**
   * @param {number} withinMs how long to wait for what is in flight
   * @returns what became of the messages: ranges `[first number, count]` by partition, times of acknowledgements in ms since
   *   1970, errors by what they said; `unanswered`: sends that neither resolved nor rejected
   */
  async stop(withinMs) {
    this.#stopped = true;
    await Promise.race([Promise.all(this.#lanes), sleep(withinMs, undefined, { ref: false })]);
    return {
      partitions: this.#partitions.map(({ next, ...rest }) => ({ sent: next, ...rest })),
      errors: this.#errors,
      unanswered: this.#inFlight.size,
    };
  }

  async #send(lane) {
    const { messages, everyMs } = this.#options;
    let due = Date.now();
    while (!this.#stopped) {
      const parts = lane.map((partition) => this.#take(partition, Math.ceil(messages / lane.length)));
      const entry = {};
      this.#inFlight.add(entry);
      try {
        await (parts.length === 1
          ? this.#producer.produce(parts[0].partition, parts[0].values)
          : this.#producer.produceSpanning(parts));
        const now = Date.now();
        for (const { partition, range } of parts) {
          this.#partitions[partition].acked.push(range);
          this.#partitions[partition].ackedAt.push(now);
        }
      } catch (error) {
        for (const { partition, range } of parts) this.#partitions[partition].refused.push(range);
        const told = tellingOf(error);
        this.#errors[told] = (this.#errors[told] ?? 0) + 1;
        await sleep(PAUSE_AFTER_REFUSAL_MS);
      } finally {
        this.#inFlight.delete(entry);
      }
      due += everyMs;
      const wait = due - Date.now();
      if (wait > 0) await sleep(wait);
      else due = Date.now();
    }
  }

  #take(partition, count) {
    const first = this.#partitions[partition].next;
    this.#partitions[partition].next += count;
    const values = Array.from({ length: count }, (_, i) => valueOf(partition, first + i));
    return { partition, values, range: [first, count] };
  }
}

/** The innermost code or name that tells something. */
function tellingOf(error) {
  const inner = [error, error?.cause, ...(error?.errors ?? [])].filter(Boolean);
  const codes = inner.map(({ type, apiId, code, name }) => type ?? apiId ?? code ?? name);
  return String(codes.at(-1) ?? error?.message);
}
