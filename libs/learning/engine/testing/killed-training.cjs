// Trains a small network with a checkpoint every 5 steps, says each step, and ends with a hash of all that it learnt.
const { createHash } = require('node:crypto');
const tf = require('@tensorflow/tfjs-core');
const { compileStep, Dense, initialiseBackend, runTraining, SeededRandom } = require('../dist/index.js');

const [path, prefer] = process.argv.slice(2);
const totalSteps = 60;

async function main() {
  await initialiseBackend({ prefer });
  const layer = new Dense({
    name: 'layer',
    inputs: 40,
    outputs: 30,
    activation: 'relu',
    random: new SeededRandom(1),
  });
  const step = compileStep({
    feeds: { x: { shape: [64, 40] } },
    parameters: layer.parameters,
    optimiser: { kind: 'adam' },
    loss: ({ x }, parameters) => ({
      loss: tf.mean(tf.square(tf.sub(tf.sum(layer.forward(x, parameters), 1), tf.sum(x, 1)))),
    }),
  });
  const result = await runTraining({
    step,
    totalSteps,
    feeds: (i) => {
      process.stdout.write(`step ${i}\n`);
      return { x: new SeededRandom(2, i).fillUniform(new Float32Array(64 * 40), 0, 1) };
    },
    learningRate: () => 1e-3,
    seed: 1,
    fingerprint: {},
    checkpoint: { path, everySteps: 5 },
  });
  const { parameters, firstMoments, secondMoments } = step.state();
  const hash = createHash('sha256');
  for (const vector of [parameters, firstMoments, secondMoments]) hash.update(vector);
  hash.update(JSON.stringify(result.history));
  process.stdout.write(`learnt ${hash.digest('hex')} resumed at ${result.resumedAt}\n`);
}

main();
