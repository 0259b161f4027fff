import * as tf from '@tensorflow/tfjs-core';

/** Far below any likelihood of a report, and still a normal float32: ln and its gradient stay finite. */
const TINY = 1e-30;

/**
 * −(1/B) Σₙ ln Σ_y P(ỹₙ | y) Σ_m w_nm p(y | z′_m): RLM eq. 11 for reports whose likelihood is a product.
 *
 * @param probabilities p(y | z′_m) [M, K]; @param weights [B, M]; @param labelLikelihood [B, K].
 */
export function factorisedLoss(
  probabilities: tf.Tensor2D,
  weights: tf.Tensor2D,
  labelLikelihood: tf.Tensor2D,
): tf.Scalar {
  const mixture = tf.matMul(weights, probabilities);
  return meanNegativeLog(tf.sum(tf.mul(mixture, labelLikelihood), 1));
}

/**
 * −(1/B) Σₙ ln Σ_m Σ_y p(reportₙ | z′_m, y) p(y | z′_m): RLM eq. 11 in general form.
 *
 * @param probabilities p(y | z′_m) [M, K]; @param likelihood π_m p(reportₙ | z′_m, y) up to a factor a row [B, M · K].
 */
export function jointLoss(probabilities: tf.Tensor2D, likelihood: tf.Tensor2D): tf.Scalar {
  const [M, K] = probabilities.shape;
  return meanNegativeLog(tf.matMul(likelihood, tf.reshape(probabilities, [M * K, 1])));
}

function meanNegativeLog(likelihood: tf.Tensor): tf.Scalar {
  return tf.neg(tf.mean<tf.Scalar>(tf.log(tf.add(likelihood, TINY))));
}
