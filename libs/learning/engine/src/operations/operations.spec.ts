import * as tf from '@tensorflow/tfjs-core';

import { describeEachBackend } from '../../testing/backends';
import { largestDifference } from '../../testing/small-autoencoder';
import { bernoulliLoss, softmaxLoss } from './losses';
import { relu } from './relu';

const logits = [
  [0.5, -1, 3],
  [-40, 40, 0],
];
const sigmoid = (r: number): number => 1 / (1 + Math.exp(-r));

describeEachBackend('operations', (backend) => {
  // The WebAssembly kernels' exponentials are good to about 2e-6.
  const tolerance = backend === 'wasm' ? 1e-4 : 1e-5;

  it('relu: value, and gradient 0 at and below 0', () => {
    const x = tf.tensor1d([-2, -0, 0, 3]);
    expect(Array.from(relu(x).dataSync(), (v) => v + 0)).toEqual([0, 0, 0, 3]);
    const gradient = tf.grad((x) => tf.sum(tf.mul(relu(x), [1, 2, 3, 4])))(x);
    expect([...gradient.dataSync()]).toEqual([0, 0, 0, 4]);
  });

  it('bernoulliLoss: −Σ t ln σ(r) + (1−t) ln(1−σ(r)), without overflow, and its gradient', () => {
    const targets = [
      [1, 0, 0.25],
      [0, 1, 0.5],
    ];
    const slow = logits.flat().reduce((sum, r, i) => {
      const t = targets.flat()[i];
      // ln σ(r) and ln(1 − σ(r)) in a form that holds at ±40.
      const logSigmoid = -Math.log1p(Math.exp(-Math.abs(r))) + Math.min(r, 0);
      return sum - t * logSigmoid - (1 - t) * (logSigmoid - r);
    }, 0);
    const loss = (r: tf.Tensor) => bernoulliLoss(r, tf.tensor2d(targets));
    expect(Math.abs(loss(tf.tensor2d(logits)).dataSync()[0] - slow)).toBeLessThan(tolerance);
    const gradient = tf
      .grad((r) => tf.mul(loss(r), 2))(tf.tensor2d(logits))
      .dataSync();
    const expected = logits.flat().map((r, i) => 2 * (sigmoid(r) - targets.flat()[i]));
    expect(largestDifference(gradient, expected)).toBeLessThan(tolerance);
  });

  it('softmaxLoss: −Σ t ln softmax(r), without overflow, and its gradient', () => {
    const targets = [
      [0, 1, 0],
      [0.2, 0.3, 0.5],
    ];
    const softmax = logits.map((row) => {
      const top = Math.max(...row);
      const total = row.reduce((sum, r) => sum + Math.exp(r - top), 0);
      return row.map((r) => ({ log: r - top - Math.log(total), value: Math.exp(r - top) / total }));
    });
    const slow = -softmax.flat().reduce((sum, { log }, i) => sum + log * targets.flat()[i], 0);
    const loss = (r: tf.Tensor) => softmaxLoss(r as tf.Tensor2D, tf.tensor2d(targets));
    expect(Math.abs(loss(tf.tensor2d(logits)).dataSync()[0] / slow - 1)).toBeLessThan(tolerance);
    const gradient = tf.grad(loss)(tf.tensor2d(logits)).dataSync();
    const expected = softmax.flat().map(({ value }, i) => value - targets.flat()[i]);
    expect(largestDifference(gradient, expected)).toBeLessThan(tolerance);
  });

  it('losses of unlike shapes are refused', () => {
    expect(() => bernoulliLoss(tf.zeros([2, 3]), tf.zeros([3, 2]))).toThrow(
      'bernoulliLoss: logits [2,3] and targets [3,2] must have the same shape',
    );
  });
});
