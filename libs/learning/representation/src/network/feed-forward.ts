/** One dense layer: outputs = activation(inputs · kernel + bias). */
export interface DenseShape {
  readonly inputs: number;
  readonly outputs: number;
  readonly activation: 'relu' | 'linear';
}

/**
 * A trained stack of dense layers in plain TypeScript and double precision: for the many small evaluations that must not
 * go through TensorFlow, whose operations block the thread that answers requests.
 */
export class FeedForward {
  readonly inputs: number;
  readonly outputs: number;

  /**
   * @param weights kernel [inputs, outputs] (row-major) and bias [outputs] of each layer in turn.
   * @throws RangeError when shapes don't fit each other.
   */
  constructor(
    readonly layers: readonly DenseShape[],
    readonly weights: readonly Float32Array[],
  ) {
    if (layers.length === 0) throw new RangeError('a network needs at least one layer');
    layers.forEach(({ inputs, outputs }, i) => {
      const got = [weights[2 * i]?.length, weights[2 * i + 1]?.length];
      if (got[0] !== inputs * outputs || got[1] !== outputs) {
        throw new RangeError(
          `layer ${i} (${inputs} → ${outputs}) has ${got[0]} kernel and ${got[1]} bias numbers: ` +
            `it must have ${inputs * outputs} and ${outputs}`,
        );
      }
      if (i > 0 && inputs !== layers[i - 1].outputs) {
        throw new RangeError(
          `layer ${i} takes ${inputs} numbers, the one before gives ${layers[i - 1].outputs}`,
        );
      }
    });
    this.inputs = layers[0].inputs;
    this.outputs = layers[layers.length - 1].outputs;
  }

  /** @param input [inputs]; @returns [outputs]. */
  evaluate(input: ArrayLike<number>): Float64Array {
    if (input.length !== this.inputs) {
      throw new RangeError(`${input.length} numbers for a network of ${this.inputs} inputs`);
    }
    let x: ArrayLike<number> = input;
    this.layers.forEach(({ inputs, outputs, activation }, i) => {
      const kernel = this.weights[2 * i];
      const y = Float64Array.from(this.weights[2 * i + 1]);
      for (let a = 0; a < inputs; a++) {
        const value = x[a];
        if (value === 0) continue;
        for (let b = 0, at = a * outputs; b < outputs; b++, at++) y[b] += value * kernel[at];
      }
      if (activation === 'relu') for (let b = 0; b < outputs; b++) if (y[b] < 0) y[b] = 0;
      x = y;
    });
    return x as Float64Array;
  }
}
