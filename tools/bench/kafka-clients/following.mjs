import { WARM_UP, numberOf } from './payload.mjs';

/** A member of a consumer group that keeps book of what it was given and when. */
export class Following {
  #partitions = new Map();
  #ended;
  #frozen = false;
  #consumer;

  /** @param {import('./drivers/driver.mjs').Driver} driver @param {{ topic: string, group: string, sessionMs: number }} options */
  static async start(driver, options) {
    const following = new Following();
    following.#consumer = await driver.openConsumer({
      ...options,
      take: async (batch) => following.#take(batch),
      ended: (why) => (following.#ended ??= why),
    });
    return following;
  }

  /** What was given so far, by partition: messages, and how many distinct ones. */
  progress() {
    const partitions = [...this.#partitions].map(([partition, { messages, seen }]) => ({
      partition,
      messages,
      distinct: seen.size,
    }));
    return { partitions, ended: this.#ended };
  }

  /** By partition: when batches came (ms since 1970), each with its ranges `[first number, count]`; `ended`: why the client gave up. */
  book() {
    const partitions = [...this.#partitions].map(([partition, { batches }]) => ({ partition, batches }));
    return { partitions, ended: this.#ended };
  }

  /** From now on a batch is neither counted nor committed. @returns the book */
  freeze() {
    this.#frozen = true;
    return this.book();
  }

  close() {
    return this.#consumer.close();
  }

  #take({ partition, values }) {
    if (this.#frozen) return new Promise(() => {});
    const entry = this.#partitions.get(partition) ?? { messages: 0, seen: new Set(), batches: [] };
    this.#partitions.set(partition, entry);
    const ranges = [];
    for (const number of values.map(numberOf)) {
      if (number === WARM_UP) continue;
      entry.seen.add(number);
      const last = ranges.at(-1);
      if (last !== undefined && number === last[0] + last[1]) last[1] += 1;
      else ranges.push([number, 1]);
    }
    entry.messages += ranges.reduce((sum, [, count]) => sum + count, 0);
    entry.batches.push({ at: Date.now(), ranges });
  }
}
