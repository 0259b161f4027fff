import * as tf from '@tensorflow/tfjs-core';

/** Frees every tensor that `work` makes; for results that hold none, which `tf.tidy` does not take. */
export function inTensorScope<T>(work: () => T): T {
  let result!: T;
  tf.tidy(() => {
    result = work();
  });
  return result;
}
