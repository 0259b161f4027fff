import { type Tensor1D, type Tensor2D } from '@tensorflow/tfjs-core';

import { EngineError } from '../errors';
import { affine } from '../operations/affine';
import { relu } from '../operations/relu';
import { glorotUniform, heNormal, type Initialiser, zeros } from '../random/initialisers';
import { type SeededRandom } from '../random/seeded-random';
import { type Layer, type NamedTensors, type ParameterSpec, type Tap } from './layer';

export type Activation = 'relu' | 'linear';

export interface DenseOptions {
  /** Unique in a model; the parameters are called `name/kernel` and `name/bias`. */
  name: string;
  inputs: number;
  outputs: number;
  activation: Activation;
  /** Draws the kernel's first values; the bias starts at 0. */
  random: SeededRandom;
  /** By default He's for relu and Glorot's for linear. */
  initialiser?: Initialiser;
}

/** activation(x·kernel + bias), kernel `[inputs, outputs]`, bias `[outputs]`. */
export class Dense implements Layer {
  readonly name: string;
  readonly inputs: number;
  readonly outputs: number;
  readonly activation: Activation;
  readonly parameters: readonly ParameterSpec[];

  constructor(options: DenseOptions) {
    const { name, inputs, outputs, activation, random } = options;
    for (const [what, value] of Object.entries({ inputs, outputs })) {
      if (!Number.isInteger(value) || value < 1) {
        throw new EngineError(
          'invalid-definition',
          `layer ${name}: ${what} must be a positive integer, got ${value}`,
        );
      }
    }
    this.name = name;
    this.inputs = inputs;
    this.outputs = outputs;
    this.activation = activation;
    const initialiser = options.initialiser ?? (activation === 'relu' ? heNormal : glorotUniform);
    this.parameters = [
      { name: `${name}/kernel`, shape: [inputs, outputs], initial: initialiser(random, [inputs, outputs]) },
      { name: `${name}/bias`, shape: [outputs], initial: zeros(random, [outputs]) },
    ];
  }

  forward(input: Tensor2D, parameters: NamedTensors, tap?: Tap): Tensor2D {
    const [kernel, bias] = this.parameters.map(({ name }) => {
      if (!parameters[name])
        throw new EngineError('invalid-definition', `layer ${this.name}: no parameter ${name}`);
      return parameters[name];
    });
    const computed = affine(input, kernel as Tensor2D, bias as Tensor1D);
    const preActivation = tap?.({ layer: this.name, input, preActivation: computed }) ?? computed;
    return this.activation === 'relu' ? relu(preActivation) : preActivation;
  }
}
