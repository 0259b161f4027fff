import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import * as tf from '@tensorflow/tfjs-core';

import { EngineError } from '../errors';
import { type TensorflowBackend } from '../backend/tensorflow-backend';
import { adamCoefficients } from './adam';
import { GraphBuilder } from './graph-builder';
import { type GraphMessages } from './graph-messages';
import { type FrozenConstant, record } from './graph-recorder';
import { lossGradients } from './loss-gradients';
import {
  adamDefaults,
  type AdamSettings,
  assertFits,
  assertValidFeeds,
  flatInitial,
  type NumberType,
  placesOf,
  type StepDefinition,
  type StepResult,
  type StepState,
  totalSize,
  type TrainingStep,
  type Values,
} from './step-definition';
import { inTensorScope } from './tensor-scope';

const RATES = ['learning_rate', 'beta1_power', 'beta2_power', 'epsilon_hat'] as const;
const STATE_PARTS = ['parameters', 'firstMoments', 'secondMoments'] as const;
type StatePart = (typeof STATE_PARTS)[number];

interface Input {
  node: string;
  shape: readonly number[];
  dtype: NumberType;
  values: Values;
}

/** A step that was written down once as a TensorFlow graph and is replayed from then on. */
export class RecordedStep implements TrainingStep {
  readonly mode = 'recorded';
  private readonly places;
  private readonly names: string[];
  private session: number | undefined;
  private stepsDone = 0;

  constructor(
    private readonly definition: StepDefinition,
    private readonly backend: TensorflowBackend,
    messages: GraphMessages,
  ) {
    this.places = placesOf(definition.parameters);
    const { saved, metrics } = writeGraph(definition, backend, messages);
    this.names = metrics;
    this.session = load(backend, saved);
    const size = totalSize(definition.parameters);
    this.assign(
      Object.entries(definition.constants ?? {}).map(([name, constant]) => ({
        node: constantNode(name),
        shape: constant.shape,
        dtype: constant.dtype ?? 'float32',
        values: constant.values,
      })),
    );
    this.restore({
      step: 0,
      parameters: flatInitial(definition.parameters),
      firstMoments: new Float32Array(size),
      secondMoments: new Float32Array(size),
    });
  }

  run(feeds: Readonly<Record<string, Values>>, learningRate: number): StepResult {
    assertValidFeeds(this.definition.feeds, feeds, learningRate);
    const { beta1Power, beta2Power, epsilonHat } = adamCoefficients(
      this.definition.optimiser,
      this.stepsDone + 1,
    );
    const inputs: Input[] = Object.entries(this.definition.feeds).map(
      ([name, { shape, dtype = 'float32' }]) => ({
        node: feedNode(name),
        shape,
        dtype,
        values: feeds[name],
      }),
    );
    for (const [i, value] of [learningRate, beta1Power, beta2Power, epsilonHat].entries()) {
      inputs.push({ node: RATES[i], shape: [], dtype: 'float32', values: Float32Array.of(value) });
    }
    const [[loss, ...metrics]] = this.replay(inputs, ['results']);
    this.stepsDone++;
    return { loss, metrics: Object.fromEntries(this.names.map((name, i) => [name, metrics[i]])) };
  }

  parameters(): Record<string, Float32Array> {
    const nodes = this.places.map((_, i) => `read/${variableNode('parameters', i)}`);
    const values = this.replay([], nodes);
    return Object.fromEntries(this.places.map(({ name }, i) => [name, values[i]]));
  }

  state(): StepState {
    const nodes = STATE_PARTS.flatMap((part) => this.places.map((_, i) => `read/${variableNode(part, i)}`));
    const values = this.replay([], nodes);
    const flat = (part: number): Float32Array => {
      const vector = new Float32Array(totalSize(this.definition.parameters));
      this.places.forEach(({ begin }, i) => vector.set(values[part * this.places.length + i], begin));
      return vector;
    };
    return { step: this.stepsDone, parameters: flat(0), firstMoments: flat(1), secondMoments: flat(2) };
  }

  restore(state: StepState): void {
    assertFits(this.definition.parameters, state);
    this.assign(
      STATE_PARTS.flatMap((part) =>
        this.places.map(({ shape, begin, end }, i) => ({
          node: variableNode(part, i),
          shape,
          dtype: 'float32' as const,
          values: state[part].slice(begin, end),
        })),
      ),
    );
    this.stepsDone = state.step;
  }

  dispose(): void {
    if (this.session === undefined) return;
    this.backend.binding.deleteSavedModel(this.session);
    this.session = undefined;
  }

  private assign(variables: readonly Input[]): void {
    if (variables.length === 0) return;
    const inputs = variables.map((variable) => ({ ...variable, node: `initial/${variable.node}` }));
    this.replay(
      inputs,
      variables.map(({ node }) => `assigned/${node}`),
    );
  }

  /** Runs the graph through the binding itself: tfjs would wrap each input and output in a tensor for nothing. */
  private replay(inputs: readonly Input[], outputs: readonly string[]): Float32Array[] {
    if (this.session === undefined)
      throw new EngineError('disposed', 'this step was disposed: compile it again');
    const { binding } = this.backend;
    const handles = inputs.map(({ shape, dtype, values }) =>
      binding.createTensor(shape, dtype === 'float32' ? binding.TF_FLOAT : binding.TF_INT32, values),
    );
    try {
      const results = binding.runSavedModel(
        this.session,
        handles,
        inputs.map(({ node }) => `${node}:0`).join(','),
        outputs.map((node) => `${node}:0`).join(','),
      );
      return results.map(({ id }) => {
        const values = binding.tensorDataSync(id) as Float32Array;
        binding.deleteTensor(id);
        return values;
      });
    } finally {
      for (const handle of handles) binding.deleteTensor(handle);
    }
  }
}

const feedNode = (name: string): string => `feed/${name}`;
const constantNode = (name: string): string => `constant/${name}`;
const variableNode = (part: StatePart, index: number): string => `${part}/${index}`;

function writeGraph(definition: StepDefinition, backend: TensorflowBackend, messages: GraphMessages) {
  const first = writeOnce(definition, backend, messages, 0);
  // A second run with other data: whatever it froze differently was drawn, counted or read in JavaScript.
  const second = writeOnce(definition, backend, messages, 0.25);
  assertSameConstants(first.frozen, second.frozen);
  return first;
}

function writeOnce(
  definition: StepDefinition,
  backend: TensorflowBackend,
  messages: GraphMessages,
  feedValue: number,
): { saved: { tag: string; bytes: Uint8Array }; metrics: string[]; frozen: FrozenConstant[] } {
  const { binding } = backend;
  const graph = new GraphBuilder(messages, binding);
  const numberOf = (dtype: NumberType) => (dtype === 'float32' ? binding.TF_FLOAT : binding.TF_INT32);

  return inTensorScope(() => {
    const named: [tf.Tensor, string][] = [];
    const inputs: Record<string, tf.Tensor> = {};
    for (const [name, { shape, dtype = 'float32' }] of Object.entries(definition.feeds)) {
      inputs[name] = tf.fill([...shape], dtype === 'float32' ? feedValue : 0, dtype);
      named.push([inputs[name], graph.placeholder(feedNode(name), numberOf(dtype), shape)]);
    }
    for (const [name, { shape, dtype = 'float32', values }] of Object.entries(definition.constants ?? {})) {
      inputs[name] = tf.tensor(values, [...shape], dtype);
      named.push([inputs[name], graph.variable(constantNode(name), numberOf(dtype), shape).value]);
    }
    const variables = definition.parameters.map(({ shape }, i) =>
      STATE_PARTS.map((part) => graph.variable(variableNode(part, i), binding.TF_FLOAT, shape)),
    );
    const parameters = definition.parameters.map(({ shape, initial }, i) => {
      const tensor = tf.tensor(initial, [...shape]);
      named.push([tensor, variables[i][0].value]);
      return tensor;
    });

    let metrics: string[] = [];
    const { outputs, frozen } = record(backend, graph, named, () => {
      const result = lossGradients(definition, inputs, parameters);
      metrics = Object.keys(result.metrics);
      const results = tf.stack([result.loss, ...Object.values(result.metrics)]);
      tf.dispose(result.metrics);
      return [results, ...result.gradients];
    });
    const [results, ...gradients] = outputs;
    const updates = writeAdam(graph, binding.TF_FLOAT, definition.optimiser, variables, gradients);
    graph.floatOperation('results', 'Identity', [results, ...updates.map((update) => `^${update}`)]);
    return { saved: graph.serialise(), metrics, frozen };
  });
}

/** The fused update of every parameter; the operations have no output, so whoever wants them run waits for them. */
function writeAdam(
  graph: GraphBuilder,
  float: number,
  optimiser: AdamSettings,
  variables: readonly { handle: string; value: string }[][],
  gradients: readonly string[],
): string[] {
  const scalar = (name: string, value: number): string =>
    graph.constant(name, float, [], new Uint8Array(Float32Array.of(value).buffer));
  const { beta1, beta2 } = adamDefaults(optimiser);
  const [rate, beta1Power, beta2Power, epsilonHat] = RATES.map((name) => graph.placeholder(name, float, []));
  const [b1, b2] = [scalar('beta1', beta1), scalar('beta2', beta2)];
  return variables.map((parts, i) => {
    const handles = parts.map(({ handle }) => handle);
    // A gradient need not depend on its parameter (a linear loss), so the update is told to wait for the reading.
    const wait = `^${parts[0].value}`;
    return graph.floatOperation(
      `adam/${i}`,
      'ResourceApplyAdam',
      [...handles, beta1Power, beta2Power, rate, b1, b2, epsilonHat, gradients[i], wait],
      { use_locking: false, use_nesterov: false },
    );
  });
}

function assertSameConstants(first: readonly FrozenConstant[], second: readonly FrozenConstant[]): void {
  const same =
    first.length === second.length &&
    first.every(
      ({ shape, dtype, bytes }, i) =>
        dtype === second[i].dtype &&
        tf.util.arraysEqual([...shape], [...second[i].shape]) &&
        Buffer.from(bytes).equals(second[i].bytes),
    );
  if (same) return;
  throw new EngineError(
    'not-recordable',
    'the step is no pure function of its inputs: a number that JavaScript made inside it (drawn at random, counted, ' +
      'or computed from data) changed between two runs and would be frozen into the graph; give it as a feed',
  );
}

/** TensorFlow reads a graph only from a folder. */
function load(backend: TensorflowBackend, { tag, bytes }: { tag: string; bytes: Uint8Array }): number {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'undertone-step-'));
  try {
    writeFileSync(path.join(folder, 'saved_model.pb'), bytes);
    return backend.binding.loadSavedModel(folder, tag);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new EngineError('not-recordable', `TensorFlow refuses the recorded step: ${reason}`, {
      cause: error,
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
