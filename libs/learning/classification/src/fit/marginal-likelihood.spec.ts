import * as tf from '@tensorflow/tfjs-core';
import { type BackendName, compileStep, EngineError, initialiseBackend } from '@undertone/engine';
import { createRandomiser } from '@undertone/ldp';
import posterior from '../likelihood/posterior.oracle.json';
import forwardCorrection from './forward-correction.oracle.json';
import { factorisedLoss, jointLoss } from './marginal-likelihood';

/** False only where the native addon isn't built. */
async function started(backend: BackendName): Promise<boolean> {
  try {
    await initialiseBackend({ prefer: backend });
    return true;
  } catch (error) {
    if (backend === 'tensorflow' && error instanceof EngineError && error.code === 'backend-unavailable')
      return false;
    throw error;
  }
}

/** Value and gradient of a loss by one compiled training step: Adam's first moments are (1 − β₁) times the gradient. */
function throughStep(
  initial: number[][],
  feeds: Record<string, number[][]>,
  loss: (parameter: tf.Tensor2D, feeds: Record<string, tf.Tensor2D>) => tf.Scalar,
): { loss: number; gradient: number[] } {
  const shapeOf = (rows: number[][]): number[] => [rows.length, rows[0].length];
  const step = compileStep({
    feeds: Object.fromEntries(Object.entries(feeds).map(([name, rows]) => [name, { shape: shapeOf(rows) }])),
    parameters: [{ name: 'p', shape: shapeOf(initial), initial: Float32Array.from(initial.flat()) }],
    optimiser: { kind: 'adam' },
    loss: (inputs, { p }) => ({ loss: loss(p as tf.Tensor2D, inputs as Record<string, tf.Tensor2D>) }),
  });
  try {
    const result = step.run(
      Object.fromEntries(Object.entries(feeds).map(([name, rows]) => [name, Float32Array.from(rows.flat())])),
      0.1,
    );
    return { loss: result.loss, gradient: Array.from(step.state().firstMoments, (m) => m / 0.1) };
  } finally {
    step.dispose();
  }
}

/** P(ỹ | y) of the published randomiser, for all y [K]. */
function labelLikelihood(classes: number, epsilon: number, noisy: number): number[] {
  const { label } = createRandomiser({
    kind: 'factorised',
    representation: { kind: 'laplace-l1', dimension: 1, radius: 1, epsilon: 1 },
    label: { kind: 'k-rr', classes, epsilon },
  }).factors!;
  return Array.from({ length: classes }, (_, y) => Math.exp(label.logLikelihood(Uint8Array.of(noisy), y)));
}

const expectAllClose = (got: number[], expected: number[], tolerance: number): void => {
  expect(got).toHaveLength(expected.length);
  got.forEach((v, i) =>
    expect(Math.abs(v - expected[i])).toBeLessThan(tolerance * (1 + Math.abs(expected[i]))),
  );
};

describe.each<BackendName>(['tensorflow', 'wasm', 'cpu'])('marginal likelihood on %s', (backend) => {
  const tolerance = backend === 'wasm' ? 2e-5 : 3e-6;

  it.each(posterior.cases)('has the loss and gradient of the oracle, ε_x = $epsilon_x', async (oracle) => {
    if (!(await started(backend))) return;
    const label = oracle.noisy_labels.map((noisy) => labelLikelihood(3, oracle.epsilon_y, noisy));
    const rows = label.length;

    const product = throughStep(posterior.class_probabilities, { weights: oracle.weights, label }, (p, f) =>
      tf.mul(rows, factorisedLoss(p, f.weights, f.label)),
    );
    expectAllClose([product.loss], [oracle.loss], tolerance);
    expectAllClose(product.gradient, oracle.d_loss_d_class_probabilities.flat(), tolerance);

    const pair = oracle.weights.map((w, n) => w.flatMap((weight) => label[n].map((l) => weight * l)));
    const general = throughStep(posterior.class_probabilities, { pair }, (p, f) =>
      tf.mul(rows, jointLoss(p, f.pair)),
    );
    expectAllClose([general.loss], [oracle.loss], tolerance);
    expectAllClose(general.gradient, oracle.d_loss_d_class_probabilities.flat(), tolerance);
  });

  it.each(forwardCorrection.cases)(
    'is forward correction where z is known, K = $K, ε_y = $epsilon_y',
    async (oracle) => {
      if (!(await started(backend))) return;
      const label = [labelLikelihood(oracle.K, oracle.epsilon_y, oracle.noisy_label)];
      const { loss, gradient } = throughStep([oracle.logits], { weights: [[1]], label }, (logits, f) =>
        factorisedLoss(tf.softmax(logits), f.weights, f.label),
      );
      expectAllClose([loss], [oracle.loss], tolerance);
      expectAllClose(gradient, oracle.d_loss_d_logits, tolerance);
    },
  );
});
