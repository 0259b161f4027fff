import * as tf from '@tensorflow/tfjs-core';
import { decoderHeads, Encoder, type InputSchema } from '@undertone/artifact';
import { compileStep, initialiseBackend, type NamedTensors, SeededRandom } from '@undertone/engine';
import { FeedForward } from '../network/feed-forward';
import { fillStandardLaplace } from './noise-schedule';
import { ontoL1Ball } from './mechanism-posterior';
import { publishedNetwork } from './published-network';
import { RADIUS, VrlmModel } from './vrlm-model';
import { vrlmSettings } from './vrlm-settings';

beforeAll(() => initialiseBackend());

const tensorsOf = (values: Readonly<Record<string, Float32Array>>, model: VrlmModel): NamedTensors =>
  Object.fromEntries(model.parameters.map(({ name, shape }) => [name, tf.tensor(values[name], [...shape])]));

const initialValues = (model: VrlmModel): Record<string, Float32Array> =>
  Object.fromEntries(model.parameters.map(({ name, initial }) => [name, initial]));

/** Sparse rows in [0, 1], four fifths of them zeros as in MNIST. */
function pixels(rows: number, width: number, seed: number): Float32Array {
  const random = new SeededRandom(seed, 'pixels');
  return Float32Array.from({ length: rows * width }, () => (random.uniform() < 0.8 ? 0 : random.uniform()));
}

describe('encoder on a device', () => {
  it('agrees with TensorFlow within 1e-5 on an encoder of MNIST size', () => {
    const schema: InputSchema = { kind: 'image', height: 28, width: 28, channels: 1, maximum: 255 };
    const model = new VrlmModel(784, decoderHeads(schema), vrlmSettings({}), 5);
    const values = initialValues(model);
    // Codes of an untrained encoder lie deep inside the ball: this last layer puts half of them on its surface.
    values['encoder/2/bias'] = Float32Array.from({ length: 8 }, (_, i) => 0.08 * (i - 3));
    const x = pixels(64, 784, 1);
    const network = publishedNetwork(model.encoder, values);
    const device = new Encoder(
      { ...network, projection: { kind: 'l1-ball', radius: RADIUS } },
      network.weights,
    );
    const trained = tf.tidy(() =>
      ontoL1Ball(
        model.encoder.forward(tf.tensor2d(x, [64, 784]), tensorsOf(values, model)),
        RADIUS,
      ).arraySync(),
    );
    let onSurface = 0;
    trained.forEach((expected, i) => {
      const z = device.encode(x, i * 784);
      expect(z.reduce((s, v) => s + Math.abs(v), 0)).toBeLessThanOrEqual(RADIUS);
      if (z.reduce((s, v) => s + Math.abs(v), 0) > 1 - 1e-9) onSurface++;
      expected.forEach((v, c) => expect(Math.abs(z[c] - v)).toBeLessThan(1e-5));
    });
    expect(onSurface).toBeGreaterThan(5);
  });
});

describe('ELBO', () => {
  const schema: InputSchema = {
    kind: 'table',
    columns: [
      { name: 'a', kind: 'numeric', mean: 0, deviation: 1 },
      { name: 'b', kind: 'categorical', levels: ['x', 'y', 'z'] },
    ],
  };
  const settings = vrlmSettings({ latent: 2, hidden: [6, 5] });
  const model = new VrlmModel(4, decoderHeads(schema), settings, 3);
  const x = Float32Array.of(0.5, 0, 1, 0, -1, 0, 0, 1, 2, 1, 0, 0);
  const noise = fillStandardLaplace(new Float32Array(6), new SeededRandom(1));
  const b = 0.4;

  /** The same number from its definition, record by record in double precision. */
  function slowElbo(): { loss: number; reconstruction: number; divergence: number } {
    const values = initialValues(model);
    const encoder = publishedNetwork(model.encoder, values);
    const decoder = publishedNetwork(model.decoder, values);
    const s = model.priorScale(values);
    let [reconstruction, divergence] = [0, 0];
    for (let i = 0; i < 3; i++) {
      const record = x.subarray(4 * i, 4 * i + 4);
      const h = new FeedForward(encoder.layers, encoder.weights).evaluate(record);
      const norm = Math.max(1, Math.abs(h[0]) + Math.abs(h[1]));
      const mean = [h[0] / norm, h[1] / norm];
      for (const m of mean)
        divergence += Math.log(s / b) + Math.abs(m) / s + (b / s) * Math.exp(-Math.abs(m) / b) - 1;
      const noisy = mean.map((m, c) => m + b * noise[2 * i + c]);
      const out = new FeedForward(decoder.layers, decoder.weights).evaluate(noisy);
      reconstruction += 0.5 * (record[0] - out[0]) ** 2 + 0.5 * Math.log(2 * Math.PI);
      const sum = Math.exp(out[1]) + Math.exp(out[2]) + Math.exp(out[3]);
      for (const c of [1, 2, 3]) if (record[c] === 1) reconstruction -= out[c] - Math.log(sum);
    }
    return {
      loss: (reconstruction + divergence) / 3,
      reconstruction: reconstruction / 3,
      divergence: divergence / 3,
    };
  }

  it('of a compiled step is the one by hand', () => {
    const step = compileStep(model.stepDefinition(3));
    const { loss, metrics } = step.run({ x, noise, noiseScale: Float32Array.of(b) }, 1e-3);
    step.dispose();
    const slow = slowElbo();
    expect(loss).toBeCloseTo(slow.loss, 4);
    expect(metrics.reconstruction).toBeCloseTo(slow.reconstruction, 4);
    expect(metrics.divergence).toBeCloseTo(slow.divergence, 4);
  });

  it('shows every dense layer to a tap, for clipping example by example', () => {
    const seen: string[] = [];
    tf.tidy(() => {
      const inputs = {
        x: tf.tensor2d(x, [3, 4]),
        noise: tf.tensor2d(noise, [3, 2]),
        noiseScale: tf.tensor1d([b]),
      };
      model.negativeElbo(inputs, tensorsOf(initialValues(model), model), ({ layer, input }) => {
        seen.push(`${layer} ${input.shape.join('×')}`);
        return undefined;
      });
    });
    expect(seen).toEqual(['encoder/0 3×4', 'encoder/1 3×6', 'encoder/2 3×5', 'decoder/0 3×2', 'decoder/1 3×5', 'decoder/2 3×6']); // prettier-ignore
  });
});

describe('model conditioned on ε', () => {
  const schema: InputSchema = { kind: 'image', height: 2, width: 3, channels: 1, maximum: 1 };
  const settings = vrlmSettings({ latent: 2, hidden: [7], mode: 'conditioned' });
  const model = new VrlmModel(6, decoderHeads(schema), settings, 9);
  const values = initialValues(model);

  it.each([0.7, 3, 30])('folds ln %d into the first bias and nothing changes', (epsilon) => {
    const x = pixels(5, 6, 4);
    const folded = publishedNetwork(model.encoder, values, [Math.log(epsilon)]);
    expect(folded.layers[0]).toMatchObject({ inputs: 6, outputs: 7 });
    const conditioned = tf.tidy(() => {
      const rows = tf.concat([tf.tensor2d(x, [5, 6]), tf.fill([5, 1], Math.log(epsilon))], 1) as tf.Tensor2D;
      return model.encoder.forward(rows, tensorsOf(values, model)).arraySync();
    });
    conditioned.forEach((row, i) => {
      const plain = new FeedForward(folded.layers, folded.weights).evaluate(x.subarray(6 * i, 6 * i + 6));
      row.forEach((v, c) => expect(plain[c]).toBeCloseTo(v, 5));
    });
  });
});
