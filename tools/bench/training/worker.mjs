// A V-RLM training step on the engine, driven line by line: `N` on standard input is answered with the milliseconds of
// each of N steps, as a JSON list. The same arithmetic as pytorch.py.
import { createRequire } from 'node:module';
import path from 'node:path';
import readline from 'node:readline';

const [root, backend] = process.argv.slice(2);
const require = createRequire(path.join(root, 'libs', 'learning', 'engine', 'package.json'));
const tf = require('@tensorflow/tfjs-core');
const {
  bernoulliLoss,
  compileStep,
  Dense,
  initialiseBackend,
  SeededRandom,
  Sequential,
} = require('./dist/index.js');

const [BATCH, PIXELS, LATENT, NOISE] = [256, 784, 16, 0.5];
const info = await initialiseBackend({ prefer: backend });

const stack = (name, widths) =>
  new Sequential(
    name,
    widths.slice(1).map((outputs, i) => {
      const activation = i + 2 === widths.length ? 'linear' : 'relu';
      const random = new SeededRandom(1, name, i);
      return new Dense({ name: `${name}/${i}`, inputs: widths[i], outputs, activation, random });
    }),
  );
const encoder = stack('encoder', [PIXELS, 512, 256, LATENT]);
const decoder = stack('decoder', [LATENT, 256, 512, PIXELS]);

const step = compileStep({
  feeds: { images: { shape: [BATCH, PIXELS] }, uniform: { shape: [BATCH, LATENT] } },
  parameters: [...encoder.parameters, ...decoder.parameters],
  optimiser: { kind: 'adam' },
  loss: ({ images, uniform }, parameters) => {
    const code = encoder.forward(images, parameters);
    const mean = tf.mul(code, tf.minimum(1, tf.div(1, tf.add(tf.sum(tf.abs(code), 1, true), 1e-9))));
    const noise = tf.mul(tf.sign(uniform), tf.log(tf.sub(1, tf.mul(2, tf.abs(uniform)))));
    const outputs = decoder.forward(tf.sub(mean, tf.mul(NOISE, noise)), parameters);
    const size = tf.abs(mean);
    const divergence = tf.add(
      tf.add(Math.log(1 / NOISE) - 1, size),
      tf.mul(NOISE, tf.exp(tf.neg(tf.div(size, NOISE)))),
    );
    return { loss: tf.div(tf.add(bernoulliLoss(outputs, images), tf.sum(divergence)), BATCH) };
  },
});

const images = new SeededRandom(1, 'images').fillUniform(new Float32Array(BATCH * PIXELS), 0, 1);
const uniform = new Float32Array(BATCH * LATENT);
let done = 0;

console.log(JSON.stringify({ library: info.library, backend: info.name, mode: step.mode }));
for await (const line of readline.createInterface({ input: process.stdin })) {
  const times = [];
  for (let i = 0; i < Number(line); i++) {
    const begin = process.hrtime.bigint();
    new SeededRandom(1, 'noise', done++).fillUniform(uniform, -0.5, 0.5);
    step.run({ images, uniform }, 1e-3);
    times.push(Number(process.hrtime.bigint() - begin) / 1e6);
  }
  console.log(JSON.stringify(times));
}
step.dispose();
