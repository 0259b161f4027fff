import { type Scalar } from '@tensorflow/tfjs-core';

import { EngineError } from '../errors';
import { type NamedTensors, type ParameterSpec } from '../layers/layer';
import { assertUniqueNames } from '../layers/sequential';
import { sizeOf } from '../random/initialisers';

export type NumberType = 'float32' | 'int32';
export type Values = Float32Array | Int32Array;

/** Shape and type of something that is given anew at each step. */
export interface FeedSpec {
  readonly shape: readonly number[];
  /** `float32` by default; `int32` e.g. for the indices of a gather. */
  readonly dtype?: NumberType;
}

/** Data that stays the same over all steps (a prior's points, a whole data set to gather rows from). */
export interface ConstantSpec extends FeedSpec {
  readonly values: Values;
}

/** Adam (Kingma and Ba 2015, algorithm 1) with PyTorch's defaults; the learning rate is given at each step. */
export interface AdamSettings {
  readonly kind: 'adam';
  /** 0.9 by default. */
  readonly beta1?: number;
  /** 0.999 by default. */
  readonly beta2?: number;
  /** 1e-8 by default, added to √(v̂) as in the paper. */
  readonly epsilon?: number;
}

export interface StepResult {
  loss: number;
  metrics: Record<string, number>;
}

/**
 * One training step: a pure function of its inputs and parameters, and how its parameters move.
 *
 * `loss` may use any tfjs operation with a gradient, but nothing drawn, counted or read in JavaScript may flow into it:
 * on the native backend it runs twice, is written down as a graph, and is never called again. Random numbers, rates and
 * data are feeds.
 */
export interface StepDefinition {
  readonly feeds: Readonly<Record<string, FeedSpec>>;
  /** Told to `loss` together with the feeds, by name. */
  readonly constants?: Readonly<Record<string, ConstantSpec>>;
  readonly parameters: readonly ParameterSpec[];
  readonly optimiser: AdamSettings;
  loss(
    inputs: NamedTensors,
    parameters: NamedTensors,
  ): { loss: Scalar; metrics?: Readonly<Record<string, Scalar>> };
}

/** Everything that training has changed; flat vectors hold the parameters one after the other, in their order. */
export interface StepState {
  /** Steps done. */
  step: number;
  parameters: Float32Array;
  firstMoments: Float32Array;
  secondMoments: Float32Array;
}

/**
 * A compiled step with its parameters and its optimiser's state; make it with `compileStep`.
 *
 * Equal states and feeds give equal bytes on one machine, on every backend: native TensorFlow's products and sums do not
 * depend on which of its threads was faster (200 steps of the V-RLM, five processes on two cores and one on a single
 * core: one and the same hash of the weights). Another processor, library or number of cores may round otherwise.
 */
export interface TrainingStep {
  /** How it runs: as one recorded graph, or operation by operation. */
  readonly mode: 'recorded' | 'eager';
  /**
   * Moves the parameters once.
   * @returns the loss and the metrics before the move
   * @throws EngineError `invalid-feed` naming the feed and what is wrong with it
   */
  run(feeds: Readonly<Record<string, Values>>, learningRate: number): StepResult;
  /** A copy of each parameter by name. */
  parameters(): Record<string, Float32Array>;
  state(): StepState;
  /** @throws EngineError `invalid-state` when the vectors don't fit */
  restore(state: StepState): void;
  /** Frees what it holds; a second call does nothing. */
  dispose(): void;
}

/** @throws EngineError `invalid-definition` */
export function assertValidDefinition(definition: StepDefinition): void {
  const fail = (message: string): never => {
    throw new EngineError('invalid-definition', message);
  };
  const { feeds, constants = {}, parameters, optimiser } = definition;
  if (parameters.length === 0) fail('a step needs at least one parameter');
  assertUniqueNames('the step', parameters);
  for (const { name, shape, initial } of parameters) {
    if (initial.length !== sizeOf(shape)) {
      fail(
        `parameter ${name}: shape [${shape}] holds ${sizeOf(shape)} values, its initial has ${initial.length}`,
      );
    }
  }
  for (const [name, { shape, dtype = 'float32', values }] of Object.entries(constants)) {
    if (feeds[name]) fail(`${name} is both a feed and a constant`);
    const problem = faultOf(values, shape, dtype);
    if (problem) fail(`constant ${name}: ${problem}`);
  }
  const { beta1, beta2, epsilon } = adamDefaults(optimiser);
  if (!(beta1 >= 0 && beta1 < 1)) fail(`optimiser: beta1 must be in [0, 1), got ${beta1}`);
  if (!(beta2 >= 0 && beta2 < 1)) fail(`optimiser: beta2 must be in [0, 1), got ${beta2}`);
  if (!(epsilon > 0)) fail(`optimiser: epsilon must be positive, got ${epsilon}`);
}

export function adamDefaults(settings: AdamSettings): { beta1: number; beta2: number; epsilon: number } {
  return {
    beta1: settings.beta1 ?? 0.9,
    beta2: settings.beta2 ?? 0.999,
    epsilon: settings.epsilon ?? 1e-8,
  };
}

/** @throws EngineError `invalid-feed`; a recorded graph would otherwise answer with a message of its own or not at all */
export function assertValidFeeds(
  specs: Readonly<Record<string, FeedSpec>>,
  feeds: Readonly<Record<string, Values>>,
  learningRate: number,
): void {
  for (const [name, { shape, dtype = 'float32' }] of Object.entries(specs)) {
    const problem = faultOf(feeds[name], shape, dtype);
    if (problem) throw new EngineError('invalid-feed', `feed ${name}: ${problem}`);
  }
  for (const name in feeds) {
    if (specs[name]) continue;
    const known = Object.keys(specs).join(', ') || 'none';
    throw new EngineError('invalid-feed', `feed ${name} is not one of this step's (${known})`);
  }
  if (!Number.isFinite(learningRate) || learningRate < 0) {
    throw new EngineError(
      'invalid-feed',
      `the learning rate must be a finite number from 0 up, got ${learningRate}`,
    );
  }
}

function faultOf(
  values: Values | undefined,
  shape: readonly number[],
  dtype: NumberType,
): string | undefined {
  const wanted = dtype === 'float32' ? 'Float32Array' : 'Int32Array';
  if (values === undefined) return `it is missing (a ${wanted} for shape [${shape}] is needed)`;
  // By name: a test runner's arrays may come from another realm than ours.
  const kind = Object.prototype.toString.call(values).slice(8, -1);
  if (kind !== wanted) return `it must be a ${wanted}, got ${kind}`;
  if (values.length !== sizeOf(shape)) {
    return `shape [${shape}] holds ${sizeOf(shape)} values, got ${values.length}; a step is compiled for fixed shapes`;
  }
  return undefined;
}

/** @throws EngineError `invalid-state` */
export function assertFits(parameters: readonly ParameterSpec[], state: StepState): void {
  const size = totalSize(parameters);
  if (!Number.isInteger(state.step) || state.step < 0) {
    throw new EngineError('invalid-state', `a state's step must be an integer from 0 up, got ${state.step}`);
  }
  for (const part of ['parameters', 'firstMoments', 'secondMoments'] as const) {
    if (state[part].length !== size) {
      throw new EngineError(
        'invalid-state',
        `${part} has ${state[part].length} values, this step has ${size}`,
      );
    }
  }
}

export const totalSize = (parameters: readonly ParameterSpec[]): number =>
  parameters.reduce((size, { shape }) => size + sizeOf(shape), 0);

/** Where each parameter lies in the flat vectors. */
export function placesOf(
  parameters: readonly ParameterSpec[],
): { name: string; shape: number[]; begin: number; end: number }[] {
  let begin = 0;
  return parameters.map(({ name, shape }) => {
    const place = { name, shape: [...shape], begin, end: begin + sizeOf(shape) };
    begin = place.end;
    return place;
  });
}

export function flatInitial(parameters: readonly ParameterSpec[]): Float32Array {
  const flat = new Float32Array(totalSize(parameters));
  for (const [i, { begin }] of placesOf(parameters).entries()) flat.set(parameters[i].initial, begin);
  return flat;
}
