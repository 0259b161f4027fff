import * as tf from '@tensorflow/tfjs-core';

/** ν(h) = h · min(1, l/‖h‖₁) (RLM eq. 9) for rows [n, d]: the radial map onto the L1 ball of radius l. */
export function ontoL1Ball(h: tf.Tensor2D, radius: number): tf.Tensor2D {
  const norm = tf.sum(tf.abs(h), 1, true);
  return tf.mul(h, tf.minimum(1, tf.div(radius, tf.maximum(norm, 1e-12))));
}

/**
 * KL(Laplace(μ, b) ‖ Laplace(0, s)) = ln(s/b) + |μ|/s + (b/s) e^(−|μ|/b) − 1, summed over all coordinates: the
 * divergence of the latent posterior (the mechanism itself) from the prior.
 *
 * @param mean μ [n, d]; @param noiseScale b [1]; @param priorScale s [1].
 */
export function laplaceDivergence(
  mean: tf.Tensor2D,
  noiseScale: tf.Tensor,
  priorScale: tf.Tensor,
): tf.Scalar {
  const size = tf.abs(mean);
  const overlap = tf.mul(tf.div(noiseScale, priorScale), tf.exp(tf.neg(tf.div(size, noiseScale))));
  const constant = tf.sub(tf.log(tf.div(priorScale, noiseScale)), 1);
  return tf.sum(tf.add(tf.add(tf.div(size, priorScale), overlap), constant));
}
