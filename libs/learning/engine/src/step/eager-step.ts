import * as tf from '@tensorflow/tfjs-core';

import { EngineError } from '../errors';
import { adamCoefficients } from './adam';
import { lossGradients } from './loss-gradients';
import {
  assertFits,
  assertValidFeeds,
  flatInitial,
  placesOf,
  type StepDefinition,
  type StepResult,
  type StepState,
  totalSize,
  type TrainingStep,
  type Values,
} from './step-definition';

/**
 * A step that runs operation by operation on any backend. Parameters and moments are one flat vector each, so that Adam
 * is a dozen operations in all and not a dozen for each parameter.
 */
export class EagerStep implements TrainingStep {
  readonly mode = 'eager';
  private readonly places;
  private readonly constants: Record<string, tf.Tensor>;
  private stepsDone = 0;
  private flat:
    { parameters: tf.Tensor1D; firstMoments: tf.Tensor1D; secondMoments: tf.Tensor1D } | undefined;

  constructor(private readonly definition: StepDefinition) {
    const { parameters, constants = {} } = definition;
    this.places = placesOf(parameters);
    this.constants = Object.fromEntries(
      Object.entries(constants).map(([name, { values, shape, dtype }]) => [
        name,
        tensorOf(values, shape, dtype),
      ]),
    );
    const size = totalSize(parameters);
    this.setFlat({
      parameters: flatInitial(parameters),
      firstMoments: new Float32Array(size),
      secondMoments: new Float32Array(size),
    });
  }

  run(feeds: Readonly<Record<string, Values>>, learningRate: number): StepResult {
    const flat = this.live();
    assertValidFeeds(this.definition.feeds, feeds, learningRate);
    const { beta1, beta2, ...coefficients } = adamCoefficients(this.definition.optimiser, this.stepsDone + 1);
    const rate = (learningRate * Math.sqrt(1 - coefficients.beta2Power)) / (1 - coefficients.beta1Power);

    let names: string[] = [];
    const [outputs, parameters, firstMoments, secondMoments] = tf.tidy(() => {
      const inputs = { ...this.constants };
      for (const [name, { shape, dtype }] of Object.entries(this.definition.feeds)) {
        inputs[name] = tensorOf(feeds[name], shape, dtype);
      }
      const { loss, metrics, gradients } = lossGradients(
        this.definition,
        inputs,
        this.split(flat.parameters),
      );
      names = Object.keys(metrics);
      const values = tf.stack([loss, ...Object.values(metrics)]);
      tf.dispose(metrics);

      const gradient = tf.concat(gradients.map((g) => tf.reshape(g, [-1]))) as tf.Tensor1D;
      const m: tf.Tensor1D = tf.add(
        flat.firstMoments,
        tf.mul(tf.sub(gradient, flat.firstMoments), 1 - beta1),
      );
      const v: tf.Tensor1D = tf.add(
        flat.secondMoments,
        tf.mul(tf.sub(tf.square(gradient), flat.secondMoments), 1 - beta2),
      );
      const move = tf.div(tf.mul(m, rate), tf.add(tf.sqrt(v), coefficients.epsilonHat));
      return [values, tf.sub(flat.parameters, move) as tf.Tensor1D, m, v];
    });
    tf.dispose(Object.values(flat));
    this.flat = { parameters, firstMoments, secondMoments };
    this.stepsDone++;

    const [loss, ...metrics] = outputs.dataSync();
    outputs.dispose();
    return { loss, metrics: Object.fromEntries(names.map((name, i) => [name, metrics[i]])) };
  }

  parameters(): Record<string, Float32Array> {
    const flat = this.live().parameters.dataSync() as Float32Array;
    return Object.fromEntries(this.places.map(({ name, begin, end }) => [name, flat.slice(begin, end)]));
  }

  state(): StepState {
    const copy = (tensor: tf.Tensor): Float32Array => Float32Array.from(tensor.dataSync());
    const { parameters, firstMoments, secondMoments } = this.live();
    return {
      step: this.stepsDone,
      parameters: copy(parameters),
      firstMoments: copy(firstMoments),
      secondMoments: copy(secondMoments),
    };
  }

  restore(state: StepState): void {
    const flat = this.live();
    assertFits(this.definition.parameters, state);
    tf.dispose(Object.values(flat));
    this.setFlat(state);
    this.stepsDone = state.step;
  }

  dispose(): void {
    if (!this.flat) return;
    tf.dispose(Object.values(this.flat));
    tf.dispose(Object.values(this.constants));
    this.flat = undefined;
  }

  private setFlat(state: Omit<StepState, 'step'>): void {
    // A copy, since some backends keep the array that they are given.
    this.flat = {
      parameters: tf.tensor1d(state.parameters.slice()),
      firstMoments: tf.tensor1d(state.firstMoments.slice()),
      secondMoments: tf.tensor1d(state.secondMoments.slice()),
    };
  }

  private split(flat: tf.Tensor1D): tf.Tensor[] {
    const sizes = this.places.map(({ begin, end }) => end - begin);
    return tf.split(flat, sizes).map((part, i) => tf.reshape(part, this.places[i].shape));
  }

  private live() {
    if (!this.flat) throw new EngineError('disposed', 'this step was disposed: compile it again');
    return this.flat;
  }
}

const tensorOf = (values: Values, shape: readonly number[], dtype: tf.DataType = 'float32'): tf.Tensor =>
  tf.tensor(values, [...shape], dtype as 'float32' | 'int32');
