import { scaleIntoL1Ball } from '@undertone/ldp';
import { ArtifactError } from '../artifact-error';
import type { EncoderLayer, EncoderSpec } from '../body/artifact-body';
import { InputError } from '../input-schema/input-error';

interface DenseLayer extends EncoderLayer {
  readonly kernel: Float32Array;
  readonly bias: Float32Array;
  readonly result: Float64Array;
}

/**
 * The encoder f = ν∘h in plain TypeScript: float32 weights, sums in double precision in a fixed order, so that one
 * record has one code on every platform.
 *
 * The forward pass skips inputs that are zero (four fifths of an MNIST image, half of what leaves a relu).
 */
export class Encoder {
  private readonly layers: readonly DenseLayer[];
  private readonly radius: number;
  private readonly activeIndex: Int32Array;
  private readonly activeValue: Float64Array;

  /** @param weights kernel `[inputs, outputs]` row-major and bias `[outputs]` of each layer; kept, not copied. */
  constructor(spec: EncoderSpec, weights: readonly Float32Array[]) {
    this.layers = spec.layers.map((layer, i) => ({
      ...layer,
      kernel: weights[2 * i],
      bias: weights[2 * i + 1],
      result: new Float64Array(layer.outputs),
    }));
    this.radius = spec.projection.radius;
    const widest = Math.max(...spec.layers.map((layer) => layer.inputs));
    this.activeIndex = new Int32Array(widest);
    this.activeValue = new Float64Array(widest);
  }

  /** The code z `[latent]` of the input at `[start, start + inputs)`, with Σ|zᵢ| ≤ radius. */
  encode(input: ArrayLike<number>, start: number): Float64Array {
    let count = this.gatherInput(input, start);
    let result = this.layers[0].result;
    for (const [i, layer] of this.layers.entries()) {
      if (i > 0) count = this.gather(result);
      result = this.apply(layer, count);
    }
    return scaleIntoBall(result, this.radius);
  }

  private gatherInput(input: ArrayLike<number>, start: number): number {
    let count = 0;
    for (let i = 0; i < this.layers[0].inputs; i++) {
      const value = input[start + i];
      if (value === 0) continue;
      if (!Number.isFinite(value)) {
        throw new InputError('not-a-number', `input ${i} is ${value}: every input must be a finite number`);
      }
      this.activeIndex[count] = i;
      this.activeValue[count++] = value;
    }
    return count;
  }

  private gather(values: Float64Array): number {
    let count = 0;
    for (let i = 0; i < values.length; i++) {
      if (values[i] === 0) continue;
      this.activeIndex[count] = i;
      this.activeValue[count++] = values[i];
    }
    return count;
  }

  /** Four kernel rows a pass: the sums are loaded and stored a quarter as often. */
  private apply({ kernel, bias, outputs, activation, result }: DenseLayer, count: number): Float64Array {
    const { activeIndex: index, activeValue: value } = this;
    result.set(bias);
    let k = 0;
    for (; k + 4 <= count; k += 4) {
      const [a, b, c, d] = [value[k], value[k + 1], value[k + 2], value[k + 3]];
      const rowA = index[k] * outputs;
      const rowB = index[k + 1] * outputs;
      const rowC = index[k + 2] * outputs;
      const rowD = index[k + 3] * outputs;
      for (let j = 0; j < outputs; j++) {
        result[j] +=
          a * kernel[rowA + j] + b * kernel[rowB + j] + c * kernel[rowC + j] + d * kernel[rowD + j];
      }
    }
    for (; k < count; k++) {
      const row = index[k] * outputs;
      for (let j = 0; j < outputs; j++) result[j] += value[k] * kernel[row + j];
    }
    if (activation === 'relu') {
      for (let j = 0; j < outputs; j++) if (result[j] < 0) result[j] = 0;
    }
    return result;
  }
}

function scaleIntoBall(h: Float64Array, radius: number): Float64Array {
  if (!h.every(Number.isFinite)) {
    throw new ArtifactError('invalid', 'the encoder overflows on this input: its weights are too large');
  }
  return scaleIntoL1Ball(h, radius);
}
