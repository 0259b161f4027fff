import * as tf from '@tensorflow/tfjs-core';

import { EngineError } from '../errors';
import { withGradient } from './custom-gradient';

/**
 * Σ over all entries of −ln p(t | sigmoid(r)) for logits r and targets t in [0, 1] of the same shape: the Bernoulli
 * reconstruction loss. Computed as softplus(r) − t·r, so no logit overflows; its gradient is sigmoid(r) − t. The
 * targets are data: no gradient flows into them.
 */
export function bernoulliLoss(logits: tf.Tensor, targets: tf.Tensor): tf.Scalar {
  assertSameShape('bernoulliLoss', logits, targets);
  return withGradient<tf.Scalar>([logits], ([r], save) => {
    save([r, targets]);
    return {
      value: tf.sum(tf.sub(tf.softplus(r), tf.mul(r, targets))),
      gradient: (dy, [r, t]) => [tf.mul(dy, tf.sub(tf.sigmoid(r), t))],
    };
  });
}

/**
 * Σ over rows of −Σₖ tₖ ln softmax(r)ₖ for logits r `[n, k]` and targets t `[n, k]` (one-hot rows or probabilities):
 * the cross-entropy of a categorical head. Its gradient is softmax(r)·Σₖ tₖ − t. The targets are data: no gradient
 * flows into them.
 */
export function softmaxLoss(logits: tf.Tensor2D, targets: tf.Tensor2D): tf.Scalar {
  assertSameShape('softmaxLoss', logits, targets);
  return withGradient<tf.Scalar>([logits], ([r], save) => {
    const shifted = tf.sub(r, tf.max(r, 1, true));
    const logProbabilities = tf.sub(shifted, tf.log(tf.sum(tf.exp(shifted), 1, true)));
    save([logProbabilities, targets]);
    return {
      value: tf.neg(tf.sum<tf.Scalar>(tf.mul(logProbabilities, targets))),
      gradient: (dy, [logP, t]) => {
        const expected = tf.mul(tf.exp(logP), tf.sum(t, 1, true));
        return [tf.mul(dy, tf.sub(expected, t))];
      },
    };
  });
}

function assertSameShape(name: string, logits: tf.Tensor, targets: tf.Tensor): void {
  if (tf.util.arraysEqual(logits.shape, targets.shape)) return;
  throw new EngineError(
    'invalid-definition',
    `${name}: logits [${logits.shape}] and targets [${targets.shape}] must have the same shape`,
  );
}
