import { SeededRandom } from '@undertone/engine';

/**
 * Which rows each training step takes: every epoch a new seeded order of all rows, cut into batches of one size (a
 * recorded step has a fixed shape), the rows left over being dropped until the next epoch's order. The rows of
 * a step are a pure function of seed and step, so that training resumes anywhere without a generator's state.
 */
export class EpochBatches {
  /** At most the size asked for: never more than there are rows. */
  readonly batch: number;
  readonly stepsPerEpoch: number;
  private order = new Uint32Array(0);
  private epoch = -1;

  constructor(
    private readonly rows: number,
    batch: number,
    private readonly seed: number,
  ) {
    this.batch = Math.min(batch, rows);
    this.stepsPerEpoch = Math.floor(rows / this.batch);
  }

  /** Row numbers [batch] of a step, counted from 0 over all epochs. */
  at(step: number): Uint32Array {
    const epoch = Math.floor(step / this.stepsPerEpoch);
    if (epoch !== this.epoch) {
      this.order = new SeededRandom(this.seed, 'epoch', epoch).permutation(this.rows);
      this.epoch = epoch;
    }
    const start = (step % this.stepsPerEpoch) * this.batch;
    return this.order.subarray(start, start + this.batch);
  }
}

/** Copies rows of `from` [n, width] into `to` [rows, width (+ gap)], leaving `gap` numbers free after each. */
export function gatherRows(
  from: Float32Array,
  width: number,
  rows: ArrayLike<number>,
  to: Float32Array,
  gap = 0,
): Float32Array {
  for (let i = 0; i < rows.length; i++) {
    to.set(from.subarray(rows[i] * width, (rows[i] + 1) * width), i * (width + gap));
  }
  return to;
}
