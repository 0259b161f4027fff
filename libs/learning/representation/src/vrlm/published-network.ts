import { type ParameterSpec, type Sequential } from '@undertone/engine';
import { type DenseShape } from '../network/feed-forward';

/** A dense stack as plain weights: kernel [inputs, outputs] row-major and bias [outputs] of each layer. */
export interface PlainNetwork {
  readonly layers: readonly DenseShape[];
  readonly weights: readonly Float32Array[];
}

/**
 * The trained weights of a stack. Where its first layer takes conditions after the inputs of its data, they are held at
 * the values given and folded into the first bias: b′ = b + Σ cᵢ · W[inputs + i, :].
 */
export function publishedNetwork(
  stack: Sequential,
  parameters: Readonly<Record<string, Float32Array>>,
  conditions: readonly number[] = [],
): PlainNetwork {
  const weights = stack.parameters.map(({ name }: ParameterSpec) => parameters[name].slice());
  const layers = stack.layers.map((layer, i) => ({
    inputs: layer.inputs,
    outputs: layer.outputs,
    activation: i + 1 === stack.layers.length ? ('linear' as const) : ('relu' as const),
  }));
  if (conditions.length === 0) return { layers, weights };
  const { inputs, outputs } = layers[0];
  const data = inputs - conditions.length;
  const [kernel, bias] = weights;
  conditions.forEach((value, i) => {
    const row = kernel.subarray((data + i) * outputs, (data + i + 1) * outputs);
    row.forEach((w, j) => (bias[j] += value * w));
  });
  return {
    layers: [{ ...layers[0], inputs: data }, ...layers.slice(1)],
    weights: [kernel.slice(0, data * outputs), ...weights.slice(1)],
  };
}
