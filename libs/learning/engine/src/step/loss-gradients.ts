import * as tf from '@tensorflow/tfjs-core';

import { EngineError } from '../errors';
import { type NamedTensors, type ParameterSpec } from '../layers/layer';
import { type StepDefinition } from './step-definition';

export interface LossGradients {
  loss: tf.Scalar;
  metrics: Record<string, tf.Scalar>;
  /** One for each parameter, in their order and of their shape. */
  gradients: tf.Tensor[];
}

/** Evaluates a step's loss and its gradients with operations of the active backend; call it in a `tf.tidy`. */
export function lossGradients(
  definition: StepDefinition,
  inputs: NamedTensors,
  parameters: readonly tf.Tensor[],
): LossGradients {
  let metrics: Record<string, tf.Scalar> = {};
  const evaluate = (...values: tf.Tensor[]): tf.Scalar => {
    const result = definition.loss(inputs, byName(definition.parameters, values));
    assertScalar('the loss', result.loss);
    metrics = { ...result.metrics };
    for (const [name, metric] of Object.entries(metrics)) {
      assertScalar(`metric ${name}`, metric);
      // A metric is no result of the differentiated function, so its scope would free it.
      metrics[name] = tf.keep(metric.clone());
    }
    return result.loss;
  };
  try {
    const { value, grads } = tf.valueAndGrads(evaluate)([...parameters]);
    return { loss: value as tf.Scalar, metrics, gradients: grads };
  } catch (error) {
    for (const metric of Object.values(metrics)) metric.dispose();
    if (error instanceof Error && error.message.startsWith('Cannot compute gradient of y')) {
      const names = definition.parameters.map(({ name }) => name).join(', ');
      throw new EngineError('invalid-definition', `the loss does not depend on each parameter (${names})`, {
        cause: error,
      });
    }
    throw error;
  }
}

function byName(specs: readonly ParameterSpec[], values: readonly tf.Tensor[]): NamedTensors {
  return Object.fromEntries(specs.map(({ name }, i) => [name, values[i]]));
}

function assertScalar(what: string, tensor: tf.Tensor): void {
  if (tensor.rank !== 0) {
    throw new EngineError('invalid-definition', `${what} must be a scalar, got shape [${tensor.shape}]`);
  }
}
