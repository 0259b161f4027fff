/** What has been started, ended in the opposite order. */
export class Stops {
  #stops = [];

  /** @param {() => unknown} stop */
  add(stop) {
    this.#stops.push(stop);
  }

  /** Ends everything, even where an end fails; the first failure is thrown afterwards. */
  async all() {
    const failures = [];
    for (const stop of this.#stops.splice(0).reverse()) {
      try {
        await stop();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

/**
 * Runs a work that starts things, and ends them whatever becomes of it.
 *
 * @param {(stops: Stops) => Promise<T>} work
 * @returns {Promise<T>}
 * @template T
 */
export async function withStops(work) {
  const stops = new Stops();
  try {
    return await work(stops);
  } finally {
    await stops.all();
  }
}
