import * as tf from '@tensorflow/tfjs-core';
import { type DecoderHead } from '@undertone/artifact';
import { bernoulliLoss, type NamedTensors, type ParameterSpec, softmaxLoss } from '@undertone/engine';

const LOG_TWO_PI = Math.log(2 * Math.PI);
/** Keeps a column that hardly varies from driving its deviation, and with it the loss, to an extreme. */
const SMALLEST_DEVIATION = 0.05;
/** softplus(x) = 1 − SMALLEST_DEVIATION: a learned deviation starts at 1. */
const INITIAL_RAW_DEVIATION = Math.log(Math.expm1(1 - SMALLEST_DEVIATION));

const deviationName = (head: DecoderHead): string => `decoder/deviation@${head.offset}`;

/** Gaussian heads have a learned deviation a column; the others have no parameters. */
export function headParameters(heads: readonly DecoderHead[]): ParameterSpec[] {
  return heads
    .filter((head) => head.kind === 'gaussian')
    .map((head) => ({
      name: deviationName(head),
      shape: [head.size],
      initial: new Float32Array(head.size).fill(INITIAL_RAW_DEVIATION),
    }));
}

/**
 * −ln p(x | outputs) in nats, summed over rows and heads: Bernoulli for pixels (logits), Gaussian for numeric columns
 * (means; a deviation a column is learned), categorical for one-hot groups (logits; a group of zeros, a
 * missing value, adds nothing).
 *
 * @param outputs of the decoder [n, D]; @param targets [n, D].
 */
export function reconstructionLoss(
  heads: readonly DecoderHead[],
  outputs: tf.Tensor2D,
  targets: tf.Tensor2D,
  parameters: NamedTensors,
): tf.Scalar {
  const whole = heads.length === 1;
  const columns = (rows: tf.Tensor2D, { offset, size }: DecoderHead): tf.Tensor2D =>
    whole ? rows : tf.slice(rows, [0, offset], [rows.shape[0], size]);
  const losses = heads.map((head) => {
    const [output, target] = [columns(outputs, head), columns(targets, head)];
    switch (head.kind) {
      case 'bernoulli':
        return bernoulliLoss(output, target);
      case 'categorical':
        return softmaxLoss(output, target);
      case 'gaussian':
        return gaussianLoss(output, target, parameters[deviationName(head)]);
    }
  });
  return losses.reduce((sum, loss) => tf.add(sum, loss));
}

function gaussianLoss(mean: tf.Tensor2D, target: tf.Tensor2D, rawDeviation: tf.Tensor): tf.Scalar {
  const deviation = tf.add(tf.softplus(rawDeviation), SMALLEST_DEVIATION);
  const squares = tf.square(tf.div(tf.sub(target, mean), deviation));
  const perValue = tf.add(tf.mul(0.5, squares), tf.add(tf.log(deviation), LOG_TWO_PI / 2));
  return tf.sum(perValue);
}

/** What a record looks like to the decoder: probabilities for pixels and levels, means for numeric columns, [D]. */
export function expectedRecord(heads: readonly DecoderHead[], outputs: Float64Array): Float64Array {
  const record = Float64Array.from(outputs);
  for (const { kind, offset, size } of heads) {
    const part = record.subarray(offset, offset + size);
    if (kind === 'bernoulli') part.forEach((v, i) => (part[i] = 1 / (1 + Math.exp(-v))));
    if (kind === 'categorical') {
      const largest = part.reduce((a, b) => Math.max(a, b));
      part.forEach((v, i) => (part[i] = Math.exp(v - largest)));
      const sum = part.reduce((a, b) => a + b);
      part.forEach((v, i) => (part[i] = v / sum));
    }
  }
  return record;
}
