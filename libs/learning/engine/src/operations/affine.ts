import * as tf from '@tensorflow/tfjs-core';

import { nativeOperation, tensorflowBackend } from '../backend/tensorflow-backend';
import { withGradient } from './custom-gradient';

/**
 * x·W + b for x `[n, i]`, W `[i, o]`, b `[o]` → `[n, o]`.
 *
 * On the native backend it is written with the plain two-dimensional operations, which TensorFlow fuses when it
 * optimises a recorded graph; a gradient that nobody asks for (that of the data, in a first layer) drops out there.
 * Elsewhere tfjs' own gradients are used, which leave it out as well.
 */
export function affine(x: tf.Tensor2D, kernel: tf.Tensor2D, bias: tf.Tensor1D): tf.Tensor2D {
  const native = tensorflowBackend();
  if (!native) return tf.add(tf.matMul(x, kernel), bias);

  const product = (a: tf.Tensor, b: tf.Tensor, transposed: { a: boolean; b: boolean }) =>
    nativeOperation(native, 'MatMul', [a, b], { transpose_a: transposed.a, transpose_b: transposed.b });
  return withGradient<tf.Tensor2D>([x, kernel, bias], ([input, weights, offset], save) => {
    save([input, weights]);
    return {
      value: nativeOperation(native, 'BiasAdd', [product(input, weights, { a: false, b: false }), offset]),
      gradient: (dy, [input, weights]) => [
        product(dy, weights, { a: false, b: true }),
        product(input, dy, { a: true, b: false }),
        nativeOperation(native, 'BiasAddGrad', [dy]),
      ],
    };
  });
}
