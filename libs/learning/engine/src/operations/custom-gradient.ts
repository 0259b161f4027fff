import * as tf from '@tensorflow/tfjs-core';

export interface Differentiable<R extends tf.Tensor> {
  value: R;
  /** The gradient by each input, from the gradient by the value and the tensors that were saved. */
  gradient(dy: R, saved: tf.Tensor[]): tf.Tensor[];
}

/** `tf.customGrad` for any number of inputs: `forward` computes a value and says how to differentiate it. */
export function withGradient<R extends tf.Tensor>(
  inputs: readonly tf.Tensor[],
  forward: (inputs: tf.Tensor[], save: (tensors: tf.Tensor[]) => void) => Differentiable<R>,
): R {
  const operation = tf.customGrad((...received: (tf.Tensor | tf.GradSaveFunc)[]) => {
    const save = received[received.length - 1] as tf.GradSaveFunc;
    const { value, gradient } = forward(received.slice(0, -1) as tf.Tensor[], save);
    return { value, gradFunc: (dy, saved) => gradient(dy as R, saved) };
  });
  return operation(...inputs) as R;
}
