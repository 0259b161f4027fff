import fc from 'fast-check';
import { l1NormUpperBound } from '@undertone/ldp';
import { DeterministicRandom } from '@undertone/ldp/testing';
import { uniformUnit } from '@undertone/ldp';
import type { EncoderLayer, EncoderSpec } from '../body/artifact-body';
import { Encoder } from './encoder';

const ball = (radius: number) => ({ kind: 'l1-ball', radius }) as const;

/** The forward pass as it is written in a textbook. */
function slowTwin(spec: EncoderSpec, weights: readonly Float32Array[], input: ArrayLike<number>): number[] {
  let x = Array.from(input);
  spec.layers.forEach(({ outputs, activation }, l) => {
    const [kernel, bias] = [weights[2 * l], weights[2 * l + 1]];
    x = Array.from({ length: outputs }, (_, j) => {
      const h = x.reduce((sum, value, i) => sum + value * kernel[i * outputs + j], bias[j]);
      return activation === 'relu' ? Math.max(h, 0) : h;
    });
  });
  const norm = x.reduce((sum, value) => sum + Math.abs(value), 0);
  return x.map((value) => value * Math.min(1, spec.projection.radius / norm || 1));
}

function randomEncoder(widths: number[], radius: number, seed: number) {
  const random = new DeterministicRandom(seed);
  const draw = () => uniformUnit(random) - 0.5;
  const layers: EncoderLayer[] = widths.slice(1).map((outputs, i) => ({
    inputs: widths[i],
    outputs,
    activation: i === widths.length - 2 ? 'linear' : 'relu',
  }));
  const weights = layers.flatMap(({ inputs, outputs }) => [
    Float32Array.from({ length: inputs * outputs }, draw),
    Float32Array.from({ length: outputs }, draw),
  ]);
  const input = Float32Array.from({ length: widths[0] }, () =>
    uniformUnit(random) < 0.6 ? 0 : uniformUnit(random),
  );
  return { spec: { layers, projection: ball(radius) }, weights, input };
}

describe('Encoder', () => {
  it('agrees with the slow twin on any shape and stays in the ball', () => {
    const widths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 2, maxLength: 5 });
    const radius = fc.double({ min: 0.01, max: 100, noNaN: true });
    fc.assert(
      fc.property(widths, radius, fc.integer(), (shape, l, seed) => {
        const { spec, weights, input } = randomEncoder(shape, l, seed);
        const z = new Encoder(spec, weights).encode(input, 0);
        slowTwin(spec, weights, input).forEach((value, i) =>
          expect(Math.abs(z[i] - value)).toBeLessThanOrEqual(1e-12 * l),
        );
        expect(l1NormUpperBound(z)).toBeLessThanOrEqual(l);
      }),
    );
  });

  it('works out a small case by hand', () => {
    const layers: EncoderLayer[] = [
      { inputs: 3, outputs: 2, activation: 'relu' },
      { inputs: 2, outputs: 2, activation: 'linear' },
    ];
    const weights = [
      Float32Array.of(1, -1, 2, 0, 0, 3),
      Float32Array.of(0.5, -1),
      Float32Array.of(1, -2, 1, 1),
      Float32Array.of(0, 1),
    ];
    // h₁ = relu(1 + 0.5, −1 − 1) = (1.5, 0); h₂ = (1.5, −3 + 1) = (1.5, −2); ‖h₂‖₁ = 3.5.
    expect([...new Encoder({ layers, projection: ball(7) }, weights).encode([1, 0, 0], 0)]).toEqual([
      1.5, -2,
    ]);
    const [a, b] = new Encoder({ layers, projection: ball(1) }, weights).encode([9, 1, 0, 0], 1);
    expect(a).toBeCloseTo(1.5 / 3.5, 15);
    expect(b).toBeCloseTo(-2 / 3.5, 15);
  });

  it('keeps nothing from one record to the next', () => {
    const { spec, weights, input } = randomEncoder([20, 10, 4], 1, 1);
    const encoder = new Encoder(spec, weights);
    const first = encoder.encode(input, 0);
    const kept = [...first];
    encoder.encode(new Float32Array(20).fill(1), 0);
    expect([...encoder.encode(input, 0)]).toEqual(kept);
    expect([...first]).toEqual(kept);
  });

  it.each([NaN, Infinity, undefined])('refuses the input %p by its place', (bad) => {
    const { spec, weights } = randomEncoder([3, 2], 1, 1);
    const act = () => new Encoder(spec, weights).encode([0, bad as number, 0], 0);
    expect(act).toThrow(/input 1 is/);
    expect(act).toThrow(expect.objectContaining({ code: 'not-a-number' }));
  });

  it('refuses weights that overflow', () => {
    const spec: EncoderSpec = {
      layers: Array.from({ length: 9 }, () => ({ inputs: 1, outputs: 1, activation: 'linear' })),
      projection: ball(1),
    };
    const weights = spec.layers.flatMap(() => [Float32Array.of(3e38), new Float32Array(1)]);
    expect(() => new Encoder(spec, weights).encode([1], 0)).toThrow(/overflows/);
  });
});
