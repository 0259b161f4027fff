import { createRequire } from 'node:module';

import * as tf from '@tensorflow/tfjs-core';

import { EngineError } from '../errors';
import { tensorflowBackend } from '../backend/tensorflow-backend';
import { EagerStep } from './eager-step';
import { type GraphMessages } from './graph-messages';
import { RecordedStep } from './recorded-step';
import { assertValidDefinition, type StepDefinition, type TrainingStep } from './step-definition';

/**
 * Makes a step runnable on the active backend: recorded as one graph on native TensorFlow, operation by operation
 * elsewhere. Both move the parameters alike. Call `initialiseBackend` first.
 *
 * @throws EngineError `invalid-definition`; `not-recordable` when the step is no pure function of its inputs;
 *   `backend-unavailable` when `recorded` is asked for on another backend than the native one
 */
export function compileStep(
  definition: StepDefinition,
  options: { mode?: 'auto' | 'recorded' | 'eager' } = {},
): TrainingStep {
  const { mode = 'auto' } = options;
  if (!tf.getBackend()) {
    throw new EngineError('backend-unavailable', 'no backend was started: call initialiseBackend first');
  }
  assertValidDefinition(definition);
  const native = tensorflowBackend();
  if (mode === 'recorded' && !native) {
    throw new EngineError(
      'backend-unavailable',
      `a step can't be recorded on the backend ${tf.getBackend()}`,
    );
  }
  if (!native || mode === 'eager') return new EagerStep(definition);
  const messages = createRequire(__filename)('@tensorflow/tfjs-node/dist/proto/api_pb.js') as GraphMessages;
  return new RecordedStep(definition, native, messages);
}
