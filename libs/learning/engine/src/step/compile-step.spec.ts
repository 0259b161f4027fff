import * as tf from '@tensorflow/tfjs-core';

import { availableBackends, describeEachBackend, describeNative } from '../../testing/backends';
import {
  BATCH,
  INPUTS,
  largestDifference,
  smallAutoencoder,
  smallFeeds,
} from '../../testing/small-autoencoder';
import { type BackendName, initialiseBackend } from '../backend/initialise-backend';
import { type TensorflowBackend } from '../backend/tensorflow-backend';
import { SeededRandom } from '../random/seeded-random';
import { compileStep } from './compile-step';
import { type StepDefinition, type StepResult, type StepState, type Values } from './step-definition';

/** θ of shape [3] moving towards [1, 2, 3] with weights; its metrics are the first coordinate and 5. */
const quadratic: StepDefinition = {
  feeds: { weights: { shape: [3] } },
  parameters: [{ name: 'theta', shape: [3], initial: Float32Array.of(0.5, -1, 2) }],
  optimiser: { kind: 'adam' },
  loss: ({ weights }, { theta }) => ({
    loss: tf.sum(tf.mul(weights, tf.square(tf.sub(theta, [1, 2, 3])))),
    metrics: { first: tf.reshape(tf.slice(theta, [0], [1]), []), five: tf.scalar(5) },
  }),
};
const weights = Float32Array.of(1, 1e-4, 10);

function train(
  definition: StepDefinition,
  mode: 'recorded' | 'eager' | 'auto',
  steps: number,
  feeds: (i: number) => Record<string, Values> = smallFeeds,
): { state: StepState; results: StepResult[] } {
  const step = compileStep(definition, { mode });
  try {
    const results = Array.from({ length: steps }, (_, i) => step.run(feeds(i), 1e-3));
    return { state: step.state(), results };
  } finally {
    step.dispose();
  }
}

describeEachBackend('compileStep', () => {
  it('moves parameters as PyTorch’s Adam does', () => {
    // torch.optim.Adam(lr=0.1) of PyTorch 2.15 in float64: the loss before each step and the parameters after it.
    const expected = [
      [10.2509, [0.599999999, -0.9000016666388894, 2.09999999995]],
      [8.260841002666648, [0.6988125783408332, -0.8001060646507997, 2.199587772226698]],
      [6.498095266053231, [0.7951287474397004, -0.7003865936263336, 2.298413728456516]],
      [4.964934403084002, [0.8870846018099783, -0.6009203339156086, 2.3960609413237797]],
    ] as const;
    const step = compileStep(quadratic);
    for (const [loss, theta] of expected) {
      const before = step.parameters().theta[0];
      const result = step.run({ weights }, 0.1);
      expect(result.loss).toBeCloseTo(loss, 4);
      expect(result.metrics).toEqual({ first: before, five: 5 });
      expect(largestDifference(step.parameters().theta, theta)).toBeLessThan(1e-5);
    }
    step.dispose();
  });

  it('adds ε to √v̂ as PyTorch does, which shows when the gradient is small', () => {
    const step = compileStep({
      feeds: {},
      parameters: [{ name: 'theta', shape: [], initial: Float32Array.of(0.5) }],
      optimiser: { kind: 'adam', epsilon: 1e-2 },
      loss: (_, { theta }) => ({ loss: tf.mul(theta, 1e-3) as tf.Scalar }),
    });
    // torch.optim.Adam(lr=0.1, eps=1e-2) of PyTorch 2.15.
    for (const expected of [0.4909090909, 0.4818181818, 0.4727272727]) {
      step.run({}, 0.1);
      expect(step.parameters().theta[0]).toBeCloseTo(expected, 5);
    }
    step.dispose();
  });

  it('gives constants and int32 feeds to the loss', () => {
    const values = Float32Array.from({ length: 8 }, (_, i) => i);
    const step = compileStep({
      feeds: { rows: { shape: [2], dtype: 'int32' } },
      constants: { table: { shape: [4, 2], values } },
      parameters: [{ name: 'w', shape: [2], initial: Float32Array.of(1, 10) }],
      optimiser: { kind: 'adam' },
      loss: ({ rows, table }, { w }) => ({
        loss: tf.sum(tf.mul(tf.gather(table, rows as tf.Tensor1D), w)),
      }),
    });
    expect(step.run({ rows: Int32Array.of(3, 0) }, 0).loss).toBe(6 + 70 + 0 + 10);
    expect(step.run({ rows: Int32Array.of(1, 1) }, 0).loss).toBe(2 * (2 + 30));
    step.dispose();
  });

  it('holds the same number of tensors over an epoch, and none after disposal', () => {
    const before = tf.memory().numTensors;
    const step = compileStep(smallAutoencoder());
    step.run(smallFeeds(0), 1e-3);
    const during = tf.memory().numTensors;
    const native = (): number | undefined =>
      (tf.backend() as { getNumOfTFTensors?(): number }).getNumOfTFTensors?.();
    const nativeDuring = native();
    for (let i = 1; i <= 40; i++) {
      step.run(smallFeeds(i), 1e-3);
      step.parameters();
      step.restore(step.state());
    }
    expect(tf.memory().numTensors).toBe(during);
    expect(native()).toBe(nativeDuring);
    step.dispose();
    step.dispose();
    expect(tf.memory().numTensors).toBe(before);
  });

  it('restores a state of another step to the bit', () => {
    const { state } = train(smallAutoencoder(), 'auto', 3);
    const step = compileStep(smallAutoencoder(99));
    step.restore(state);
    expect(step.state()).toEqual(state);
    step.dispose();
  });

  it('does not keep hold of the arrays that it is given', () => {
    const feeds = { weights: weights.slice() };
    const step = compileStep(quadratic);
    step.run(feeds, 0.1);
    feeds.weights.fill(0);
    const before = step.state();
    const copy = { ...before, parameters: before.parameters.slice() };
    step.restore(before);
    before.parameters.fill(7);
    expect(step.state().parameters).toEqual(copy.parameters);
    expect(step.run({ weights }, 0.1).loss).toBeGreaterThan(1);
    step.dispose();
  });

  it.each([
    ['a missing feed', {}, 'feed weights: it is missing (a Float32Array for shape [3] is needed)'],
    ['another length', { weights: new Float32Array(4) }, 'feed weights: shape [3] holds 3 values, got 4'],
    [
      'another type',
      { weights: new Int32Array(3) },
      'feed weights: it must be a Float32Array, got Int32Array',
    ],
    ['an unknown feed', { weights, more: weights }, 'feed more is not one of this step’s (weights)'],
  ])('refuses %s', (_, feeds, message) => {
    const step = compileStep(quadratic);
    expect(() => step.run(feeds as Record<string, Values>, 0.1)).toThrow(
      expect.objectContaining({
        code: 'invalid-feed',
        message: expect.stringContaining(message.replace('’', "'")),
      }),
    );
    expect(() => step.run({ weights }, NaN)).toThrow(
      'the learning rate must be a finite number from 0 up, got NaN',
    );
    expect(step.state().step).toBe(0);
    step.dispose();
  });

  it('refuses a state that does not fit, and use after disposal', () => {
    const step = compileStep(quadratic);
    const state = step.state();
    expect(() => step.restore({ ...state, secondMoments: new Float32Array(2) })).toThrow(
      'secondMoments has 2 values, this step has 3',
    );
    expect(() => step.restore({ ...state, step: 0.5 })).toThrow('integer from 0 up, got 0.5');
    step.dispose();
    expect(() => step.run({ weights }, 0.1)).toThrow(expect.objectContaining({ code: 'disposed' }));
    expect(() => step.state()).toThrow(expect.objectContaining({ code: 'disposed' }));
  });

  it('refuses definitions that can’t work', () => {
    const [theta] = quadratic.parameters;
    const fails = (changes: Partial<StepDefinition>, message: string) =>
      expect(() => compileStep({ ...quadratic, ...changes })).toThrow(
        expect.objectContaining({ code: 'invalid-definition', message: expect.stringContaining(message) }),
      );
    fails({ parameters: [] }, 'at least one parameter');
    fails({ parameters: [theta, theta] }, 'two parameters are called theta');
    fails({ parameters: [{ ...theta, shape: [4] }] }, 'theta: shape [4] holds 4 values, its initial has 3');
    fails({ optimiser: { kind: 'adam', beta1: 1 } }, 'beta1 must be in [0, 1), got 1');
    fails(
      { constants: { weights: { shape: [3], values: weights } } },
      'weights is both a feed and a constant',
    );
    fails(
      { constants: { c: { shape: [2], values: weights } } },
      'constant c: shape [2] holds 2 values, got 3',
    );
  });

  it('refuses a loss that is no scalar or leaves a parameter out', () => {
    const run =
      (loss: StepDefinition['loss'], parameters = quadratic.parameters) =>
      () => {
        const step = compileStep({ ...quadratic, parameters, loss });
        step.run({ weights }, 0.1);
      };
    expect(run((_, { theta }) => ({ loss: theta as tf.Scalar }))).toThrow(
      'the loss must be a scalar, got shape [3]',
    );
    const unused = { name: 'unused', shape: [1], initial: Float32Array.of(1) };
    expect(run(quadratic.loss, [...quadratic.parameters, unused])).toThrow(
      'the loss does not depend on each parameter (theta, unused)',
    );
  });
});

describeNative('a recorded step', () => {
  it('moves the weights as the same step does operation by operation', () => {
    const recorded = train(smallAutoencoder(), 'recorded', 25);
    const eager = train(smallAutoencoder(), 'eager', 25);
    for (const part of ['parameters', 'firstMoments', 'secondMoments'] as const) {
      expect(largestDifference(recorded.state[part], eager.state[part])).toBeLessThan(1e-6);
    }
    recorded.results.forEach(({ loss, metrics }, i) => {
      expect(Math.abs(loss / eager.results[i].loss - 1)).toBeLessThan(1e-6);
      expect(metrics.norm).toBeCloseTo(eager.results[i].metrics.norm, 5);
    });
    expect(largestDifference(recorded.state.parameters, compiledInitial())).toBeGreaterThan(1e-2);
  });

  it('repeats itself bit for bit', () => {
    expect(train(smallAutoencoder(), 'recorded', 10).state).toEqual(
      train(smallAutoencoder(), 'recorded', 10).state,
    );
  });

  it('covers the operations that losses are made of', () => {
    const random = new SeededRandom(5);
    const definition: StepDefinition = {
      feeds: { x: { shape: [6, 4] }, table: { shape: [5, 3] }, rows: { shape: [6], dtype: 'int32' } },
      parameters: [
        { name: 'w', shape: [4, 3], initial: random.fillNormal(new Float32Array(12), 1) },
        { name: 'b', shape: [3], initial: random.fillNormal(new Float32Array(3), 1) },
      ],
      optimiser: { kind: 'adam' },
      loss: (inputs, { w, b }) => {
        const { x, table, rows } = inputs as { x: tf.Tensor2D; table: tf.Tensor2D; rows: tf.Tensor1D };
        const logits = tf.add(tf.matMul(x, w as tf.Tensor2D), b) as tf.Tensor2D;
        const gathered = tf.gather(table, rows);
        const terms = [
          tf.mean(tf.logSoftmax(logits)),
          tf.log(tf.sum(tf.mul(tf.softmax(logits), tf.abs(gathered)))),
          tf.logSumExp(tf.expandDims(logits, 1)),
          tf.sum(tf.matMul(logits, table, false, true)),
          tf.sum(tf.exp(tf.neg(tf.square(logits)))),
          tf.max(tf.maximum(logits, gathered)),
          tf.min(tf.minimum(logits, 0.1)),
          tf.sum(
            tf.div(
              tf.slice(logits, [0, 1], [6, 2]),
              tf.sqrt(tf.add(tf.square(gathered), 1)).slice([0, 0], [6, 2]),
            ),
          ),
          tf.sum(tf.softplus(tf.concat([logits, gathered], 1))),
          tf.sum(tf.tanh(tf.transpose(logits))),
          tf.sum(tf.sigmoid(tf.reshape(logits, [2, 9]))),
          tf.mean(tf.stack(tf.unstack(logits))),
          tf.sum(tf.mul(tf.tile(tf.reshape(b, [1, 3]), [6, 1]), gathered)),
          tf.sum(tf.where(tf.greater(gathered, 0), logits, tf.mul(logits, 0.5))),
          tf.sum(tf.mul(tf.oneHot(rows, 3), logits)),
          tf.sum(tf.cumsum(logits, 1)),
          tf.sum(tf.clipByValue(logits, -0.5, 0.5)),
          tf.sum(
            tf.pad(tf.pow(tf.abs(logits), 1.5), [
              [0, 1],
              [0, 0],
            ]),
          ),
          tf.sum(tf.squaredDifference(logits, gathered)),
          tf.sum(tf.log1p(tf.abs(logits))),
          tf.sum(
            tf.mul(
              tf.cast(tf.logicalAnd(tf.less(x, 0.5), tf.notEqual(x, 0)), 'float32'),
              tf.matMul(logits, w as tf.Tensor2D, false, true),
            ),
          ),
        ];
        return {
          loss: tf.addN(terms.map((term) => tf.reshape(term, []))) as tf.Scalar,
          metrics: Object.fromEntries(
            terms.map((term, i) => [`term${i}`, tf.reshape(term, []) as tf.Scalar]),
          ),
        };
      },
    };
    const feeds = (i: number): Record<string, Values> => {
      const random = new SeededRandom(8, i);
      return {
        x: random.fillUniform(new Float32Array(24), -1, 1),
        table: random.fillUniform(new Float32Array(15), -1, 1),
        rows: Int32Array.from({ length: 6 }, () => random.below(3)),
      };
    };
    const [recorded, eager] = (['recorded', 'eager'] as const).map((mode) =>
      train(definition, mode, 5, feeds),
    );
    recorded.results.forEach(({ metrics }, i) => {
      for (const [name, value] of Object.entries(metrics)) {
        const other = eager.results[i].metrics[name];
        expect([name, Math.abs(value - other) / (1 + Math.abs(other)) < 1e-5]).toEqual([name, true]);
      }
    });
    expect(largestDifference(recorded.state.parameters, eager.state.parameters)).toBeLessThan(1e-5);
  });

  it.each([
    ['draws random numbers', () => tf.randomNormal([3])],
    [
      'counts its calls',
      (
        (calls = 0) =>
        () =>
          tf.scalar(calls++)
      )(),
    ],
  ])('is refused when the step %s', (_, extra) => {
    const before = tf.memory().numTensors;
    const compile = () =>
      compileStep({
        ...quadratic,
        loss: (inputs, { theta }) => quadratic.loss(inputs, { theta: tf.add(theta, extra()) }),
      });
    expect(compile).toThrow(
      expect.objectContaining({
        code: 'not-recordable',
        message: expect.stringContaining('no pure function of its inputs'),
      }),
    );
    expect(tf.memory().numTensors).toBe(before);
  });

  it('is refused when the step reads a tensor’s numbers, and leaves the backend as it was', () => {
    const compile = () =>
      compileStep({
        ...quadratic,
        loss: (inputs, { theta }) =>
          quadratic.loss(inputs, { theta: tf.mul(theta, inputs.weights.dataSync()[0]) }),
      });
    expect(compile).toThrow(expect.objectContaining({ code: 'not-recordable' }));
    expect(tf.add(1, 2).dataSync()[0]).toBe(3);
    expect(train(quadratic, 'recorded', 1, () => ({ weights })).results[0].loss).toBeCloseTo(10.2509, 4);
  });

  it('tells the loss before the move even where no gradient waits for the parameters', () => {
    const size = 20_000;
    const step = compileStep({
      feeds: { a: { shape: [size] } },
      parameters: [1, 2, 3].map((i) => ({ name: `t${i}`, shape: [size], initial: new Float32Array(size) })),
      optimiser: { kind: 'adam' },
      loss: ({ a }, { t1, t2, t3 }) => ({ loss: tf.sum(tf.mul(a, tf.addN([t1, t2, t3]))) }),
    });
    const a = new Float32Array(size).fill(1);
    for (let i = 0; i < 30; i++) {
      // Adam moves by the rate itself while the gradient stays 1.
      expect(step.run({ a }, 2 ** -6).loss / (3 * size)).toBeCloseTo(-i * 2 ** -6, 4);
    }
    step.dispose();
  });

  it('gives its session back', () => {
    const backend = tf.backend() as TensorflowBackend & { getNumOfSavedModels(): number };
    const before = backend.getNumOfSavedModels();
    const step = compileStep(quadratic);
    expect(backend.getNumOfSavedModels()).toBe(before + 1);
    step.dispose();
    expect(backend.getNumOfSavedModels()).toBe(before);
  });
});

describe('backends', () => {
  it(`agree on the weights (${availableBackends.join(', ')})`, async () => {
    const states = new Map<BackendName, Float32Array>();
    for (const prefer of availableBackends) {
      await initialiseBackend({ prefer });
      states.set(prefer, train(smallAutoencoder(), 'auto', 10).state.parameters);
    }
    const [reference, ...others] = [...states.values()];
    for (const other of others) expect(largestDifference(reference, other)).toBeLessThan(2e-4);
  });

  it('other than the native one can’t record', async () => {
    await initialiseBackend({ prefer: 'cpu' });
    expect(() => compileStep(quadratic, { mode: 'recorded' })).toThrow(
      "a step can't be recorded on the backend cpu",
    );
  });
});

function compiledInitial(): Float32Array {
  const step = compileStep(smallAutoencoder());
  const { parameters } = step.state();
  step.dispose();
  expect(parameters.length).toBeGreaterThan(BATCH + INPUTS);
  return parameters;
}
