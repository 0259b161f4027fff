import * as tf from '@tensorflow/tfjs-core';

import { nativeOperation, tensorflowBackend } from '../backend/tensorflow-backend';
import { withGradient } from './custom-gradient';

/**
 * max(0, x), any shape. The gradient is taken from the result and is one operation on the native backend; tfjs' own
 * goes through `tf.step`, a chain of five.
 */
export function relu<T extends tf.Tensor>(x: T): T {
  const native = tensorflowBackend();
  return withGradient<T>([x], ([input], save) => {
    const value = native ? nativeOperation<T>(native, 'Relu', [input]) : (tf.relu(input) as T);
    save([value]);
    return {
      value,
      gradient: (dy, [y]) => [native ? nativeOperation(native, 'ReluGrad', [dy, y]) : tf.mul(dy, tf.step(y))],
    };
  });
}
