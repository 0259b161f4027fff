import { type SeededRandom } from './seeded-random';

/** Makes the first values of a parameter of a given shape `[...inputs, outputs]`, row-major. */
export type Initialiser = (random: SeededRandom, shape: readonly number[]) => Float32Array;

/** Number of values of a tensor of that shape; 1 for a scalar. */
export const sizeOf = (shape: readonly number[]): number => shape.reduce((size, extent) => size * extent, 1);

const fanIn = (shape: readonly number[]): number => sizeOf(shape.slice(0, -1));

/** Normal with variance 2 / inputs: keeps the scale of activations through relu layers (He et al. 2015). */
export const heNormal: Initialiser = (random, shape) =>
  random.fillNormal(new Float32Array(sizeOf(shape)), Math.sqrt(2 / fanIn(shape)));

/** Uniform with variance 2 / (inputs + outputs), for layers without relu (Glorot and Bengio 2010). */
export const glorotUniform: Initialiser = (random, shape) => {
  const limit = Math.sqrt(6 / (fanIn(shape) + shape[shape.length - 1]));
  return random.fillUniform(new Float32Array(sizeOf(shape)), -limit, limit);
};

export const zeros: Initialiser = (_random, shape) => new Float32Array(sizeOf(shape));
