import { type Subscription } from './report-log';

/** The readers of one log that haven't been stopped. */
export class Readers<R extends Subscription> implements Iterable<R> {
  private readonly all = new Set<R>();

  /** One subscription for all of them: as active as the least active one, and dead once one of them is. */
  add(...readers: readonly R[]): Subscription {
    for (const reader of readers) this.all.add(reader);
    return {
      lastActiveAt: () => new Date(Math.min(...readers.map((reader) => reader.lastActiveAt().getTime()))),
      died: Promise.race(readers.map((reader) => reader.died)),
      stop: async () => {
        await Promise.all(readers.map((reader) => reader.stop()));
        for (const reader of readers) this.all.delete(reader);
      },
    };
  }

  async stop(): Promise<void> {
    await Promise.all([...this.all].map((reader) => reader.stop()));
  }

  [Symbol.iterator](): Iterator<R> {
    return this.all[Symbol.iterator]();
  }
}
