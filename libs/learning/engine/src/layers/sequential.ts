import { type Tensor2D } from '@tensorflow/tfjs-core';

import { EngineError } from '../errors';
import { type Layer, type NamedTensors, type ParameterSpec, type Tap } from './layer';

/** Layers one after the other; names are unique and each layer fits the one before it. */
export class Sequential implements Layer {
  readonly inputs: number;
  readonly outputs: number;
  readonly parameters: readonly ParameterSpec[];

  constructor(
    readonly name: string,
    readonly layers: readonly Layer[],
  ) {
    if (layers.length === 0)
      throw new EngineError('invalid-definition', `${name}: at least one layer is needed`);
    for (let i = 1; i < layers.length; i++) {
      const [before, after] = [layers[i - 1], layers[i]];
      if (before.outputs !== after.inputs) {
        throw new EngineError(
          'invalid-definition',
          `${name}: ${after.name} takes ${after.inputs} inputs but ${before.name} gives ${before.outputs} outputs`,
        );
      }
    }
    this.inputs = layers[0].inputs;
    this.outputs = layers[layers.length - 1].outputs;
    this.parameters = layers.flatMap((layer) => layer.parameters);
    assertUniqueNames(name, this.parameters);
  }

  forward(input: Tensor2D, parameters: NamedTensors, tap?: Tap): Tensor2D {
    return this.layers.reduce((rows, layer) => layer.forward(rows, parameters, tap), input);
  }
}

/** @throws EngineError `invalid-definition` naming the first name that occurs twice */
export function assertUniqueNames(owner: string, parameters: readonly ParameterSpec[]): void {
  const seen = new Set<string>();
  for (const { name } of parameters) {
    if (seen.has(name))
      throw new EngineError('invalid-definition', `${owner}: two parameters are called ${name}`);
    seen.add(name);
  }
}
