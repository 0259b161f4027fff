import * as tf from '@tensorflow/tfjs-core';

import { Dense } from '../src/layers/dense';
import { Sequential } from '../src/layers/sequential';
import { bernoulliLoss } from '../src/operations/losses';
import { SeededRandom } from '../src/random/seeded-random';
import { type StepDefinition, type Values } from '../src/step/step-definition';

export const BATCH = 32;
export const INPUTS = 20;
export const LATENT = 3;

/** A V-RLM in small: encoder, L1-ball projection, Laplace noise by reparametrisation, decoder. */
export function smallAutoencoder(seed = 7): StepDefinition {
  const layer = (name: string, inputs: number, outputs: number, activation: 'relu' | 'linear') =>
    new Dense({ name, inputs, outputs, activation, random: new SeededRandom(seed, name) });
  const encoder = new Sequential('encoder', [
    layer('e0', INPUTS, 16, 'relu'),
    layer('e1', 16, LATENT, 'linear'),
  ]);
  const decoder = new Sequential('decoder', [
    layer('d0', LATENT, 16, 'relu'),
    layer('d1', 16, INPUTS, 'linear'),
  ]);
  return {
    feeds: { x: { shape: [BATCH, INPUTS] }, u: { shape: [BATCH, LATENT] } },
    parameters: [...encoder.parameters, ...decoder.parameters],
    optimiser: { kind: 'adam' },
    loss: (inputs, parameters) => {
      const { x, u } = inputs as { x: tf.Tensor2D; u: tf.Tensor2D };
      const code = encoder.forward(x, parameters);
      const mean = tf.mul(code, tf.minimum(1, tf.div(1, tf.add(tf.sum(tf.abs(code), 1, true), 1e-9))));
      const noise = tf.mul(tf.sign(u), tf.log(tf.sub(1, tf.mul(2, tf.abs(u)))));
      const logits = decoder.forward(tf.sub(mean, tf.mul(0.1, noise)) as tf.Tensor2D, parameters);
      const norm = tf.mean<tf.Scalar>(tf.sum(tf.abs(mean), 1));
      return { loss: tf.div(bernoulliLoss(logits, x), BATCH), metrics: { norm } };
    },
  };
}

export function smallFeeds(stepIndex: number): Record<string, Values> {
  const random = new SeededRandom(3, 'feeds', stepIndex);
  return {
    x: random.fillUniform(new Float32Array(BATCH * INPUTS), 0, 1),
    u: random.fillUniform(new Float32Array(BATCH * LATENT), -0.5, 0.5),
  };
}

/** The largest |a − b| over both arrays. */
export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Infinity;
  return Array.from(a).reduce((worst, value, i) => Math.max(worst, Math.abs(value - b[i])), 0);
}
