const SAMPLE_MS = 50;

/** Looks at growing counts again and again, and tells afterwards for how long each stood still. */
export class Progress {
  #changes = {};
  #last = {};
  #timer;
  #looking = false;

  /** @param {() => Promise<Record<string, number>>} read the counts; a failure is a look without news */
  constructor(read) {
    this.began = performance.now();
    this.#timer = setInterval(() => void this.#look(read), SAMPLE_MS);
  }

  /** Seconds since the beginning. */
  get seconds() {
    return (performance.now() - this.began) / 1000;
  }

  /** The newest count that was seen; 0 before the first. */
  latest(name) {
    return this.#last[name] ?? 0;
  }

  /** The longest time (s) between `from` and `to` (s since the beginning) in which the count did not grow. */
  standstill(name, from, to) {
    const within = (this.#changes[name] ?? []).filter((at) => at > from && at < to);
    const moments = [from, ...within, to];
    return Math.max(0, ...moments.slice(1).map((at, i) => at - moments[i]));
  }

  /** When (s since the beginning) the count grew for the last time. */
  lastGrowth(name) {
    return this.#changes[name]?.at(-1) ?? 0;
  }

  stop() {
    clearInterval(this.#timer);
  }

  async #look(read) {
    if (this.#looking) return;
    this.#looking = true;
    const counts = await read().catch(() => ({}));
    for (const [name, count] of Object.entries(counts)) {
      if (count > this.latest(name)) (this.#changes[name] ??= []).push(this.seconds);
      this.#last[name] = count;
    }
    this.#looking = false;
  }
}
