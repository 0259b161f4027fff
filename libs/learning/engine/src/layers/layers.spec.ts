import * as tf from '@tensorflow/tfjs-core';

import { describeEachBackend } from '../../testing/backends';
import { largestDifference } from '../../testing/small-autoencoder';
import { SeededRandom } from '../random/seeded-random';
import { Dense, type DenseOptions } from './dense';
import { type NamedTensors, type TapSite } from './layer';
import { Sequential } from './sequential';

const dense = (options: Partial<DenseOptions> = {}): Dense =>
  new Dense({
    name: 'layer',
    inputs: 3,
    outputs: 2,
    activation: 'relu',
    random: new SeededRandom(1, options.name ?? ''),
    ...options,
  });

const tensorsOf = ({ parameters }: Pick<Dense, 'parameters'>): NamedTensors =>
  Object.fromEntries(parameters.map(({ name, shape, initial }) => [name, tf.tensor(initial, [...shape])]));

/** activation(x·W + b) in plain loops. */
function slowForward(layer: Dense, rows: number[][]): number[] {
  const [kernel, bias] = layer.parameters.map(({ initial }) => initial);
  return rows.flatMap((row) =>
    Array.from({ length: layer.outputs }, (_, j) => {
      const sum = row.reduce((s, value, i) => s + value * kernel[i * layer.outputs + j], bias[j]);
      return layer.activation === 'relu' ? Math.max(0, sum) : sum;
    }),
  );
}

describeEachBackend('layers', () => {
  const rows = [
    [1, -2, 0.5],
    [0, 3, -1],
    [-1, -1, -1],
    [0.25, 0, 2],
  ];

  it.each(['relu', 'linear'] as const)('compute what plain loops compute (%s)', (activation) => {
    const layer = dense({ activation });
    layer.parameters[1].initial.set([0.3, -0.2]);
    const result = layer.forward(tf.tensor2d(rows), tensorsOf(layer));
    expect(result.shape).toEqual([4, 2]);
    expect(largestDifference(result.dataSync(), slowForward(layer, rows))).toBeLessThan(1e-6);
  });

  it('give the gradients of central differences', () => {
    const layer = dense();
    layer.parameters[1].initial.set([0.3, -0.2]);
    const weights = [0.7, -1.3];
    const slowLoss = (): number =>
      slowForward(layer, rows).reduce((sum, value, i) => sum + weights[i % 2] * value, 0);
    const [x, { 'layer/kernel': kernel, 'layer/bias': bias }] = [tf.tensor2d(rows), tensorsOf(layer)];
    const gradients = tf.grads((kernel, bias) =>
      tf.sum(tf.mul(layer.forward(x, { 'layer/kernel': kernel, 'layer/bias': bias }), weights)),
    )([kernel, bias]);
    layer.parameters.forEach(({ initial }, p) => {
      const computed = gradients[p].dataSync();
      initial.forEach((value, i) => {
        const h = 1e-3;
        initial[i] = value + h;
        const above = slowLoss();
        initial[i] = value - h;
        const below = slowLoss();
        initial[i] = value;
        expect(computed[i]).toBeCloseTo((above - below) / (2 * h), 3);
      });
    });
  });

  it('show a tap their input and pre-activation, and take what it returns', () => {
    const first = dense({ name: 'a', inputs: 3, outputs: 4 });
    const second = dense({ name: 'b', inputs: 4, outputs: 2, activation: 'linear' });
    const model = new Sequential('model', [first, second]);
    const parameters = { ...tensorsOf(first), ...tensorsOf(second) };
    const sites: TapSite[] = [];
    model.forward(tf.tensor2d(rows), parameters, (site) => {
      sites.push(site);
      return undefined;
    });
    expect(sites.map(({ layer, input, preActivation }) => [layer, input.shape, preActivation.shape])).toEqual(
      [
        ['a', [4, 3], [4, 4]],
        ['b', [4, 4], [4, 2]],
      ],
    );
    const replaced = model.forward(tf.tensor2d(rows), parameters, ({ layer, preActivation }) =>
      layer === 'b' ? tf.zerosLike(preActivation) : undefined,
    );
    expect([...replaced.dataSync()]).toEqual(new Array(8).fill(0));
  });

  it('yield every example’s gradient norm from one backward pass through a tap', () => {
    const first = dense({ name: 'a', inputs: 3, outputs: 4 });
    const second = dense({ name: 'b', inputs: 4, outputs: 2, activation: 'linear' });
    const model = new Sequential('model', [first, second]);
    const parameters = { ...tensorsOf(first), ...tensorsOf(second) };
    const loss = (x: tf.Tensor2D, p: NamedTensors, taps?: tf.Tensor[]) => {
      let site = 0;
      const output = model.forward(
        x,
        p,
        taps && (({ preActivation }) => tf.add(preActivation, taps[site++]) as tf.Tensor2D),
      );
      return tf.sum<tf.Scalar>(tf.square(output));
    };

    const inputs: tf.Tensor[] = [];
    model.forward(tf.tensor2d(rows), parameters, ({ input }) => {
      inputs.push(input);
      return undefined;
    });
    const zeros = [tf.zeros([4, 4]), tf.zeros([4, 2])];
    const deltas = tf.grads((...taps) => loss(tf.tensor2d(rows), parameters, taps))(zeros);
    const squares = (t: tf.Tensor) => tf.sum(tf.square(t), 1);
    const norms = tf
      .addN(inputs.map((input, i) => tf.mul(tf.add(squares(input), 1), squares(deltas[i]))))
      .dataSync();

    const names = Object.keys(parameters);
    rows.forEach((row, n) => {
      const own = tf.grads((...values) =>
        loss(tf.tensor2d([row]), Object.fromEntries(names.map((name, i) => [name, values[i]]))),
      )(Object.values(parameters));
      const slow = own.reduce((sum, g) => sum + tf.sum(tf.square(g)).dataSync()[0], 0);
      expect(norms[n]).toBeCloseTo(slow, 3);
    });
  });
});

describe('layers that can’t work', () => {
  it('are refused with the name and the numbers', () => {
    expect(() => dense({ inputs: 0 })).toThrow('layer layer: inputs must be a positive integer, got 0');
    expect(() => new Sequential('model', [])).toThrow('model: at least one layer');
    expect(() => new Sequential('model', [dense(), dense({ name: 'next' })])).toThrow(
      'model: next takes 3 inputs but layer gives 2 outputs',
    );
    expect(() => new Sequential('model', [dense(), dense({ inputs: 2 })])).toThrow(
      'two parameters are called layer/kernel',
    );
    expect(() => dense().forward(tf.tensor2d([[1, 2, 3]]), {})).toThrow(
      'layer layer: no parameter layer/kernel',
    );
  });
});
