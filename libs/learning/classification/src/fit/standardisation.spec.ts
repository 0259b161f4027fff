import { FeedForward } from '@undertone/representation';
import { foldStandardisation, standardisationOf, standardise } from './standardisation';

describe('standardisation', () => {
  const points = Float32Array.of(1, 10, 3, 30, 5, 10);

  it('gives coordinates mean 0 and deviation 1', () => {
    const { centre, scale } = standardisationOf(points, 2);
    expect([...centre]).toEqual([3, expect.closeTo(50 / 3, 10)]);
    expect([...scale]).toEqual([
      expect.closeTo(Math.sqrt(8 / 3), 10),
      expect.closeTo(Math.sqrt(800 / 9), 10),
    ]);
    const standard = standardise(points, { centre, scale });
    expect(standard[0] + standard[2] + standard[4]).toBeCloseTo(0, 6);
    expect((standard[1] ** 2 + standard[3] ** 2 + standard[5] ** 2) / 3).toBeCloseTo(1, 6);
  });

  it('counts a point by its weight, and leaves a constant coordinate finite', () => {
    const { centre, scale } = standardisationOf(Float32Array.of(0, 7, 4, 7), 2, Float64Array.of(0.75, 0.25));
    expect([...centre]).toEqual([1, 7]);
    expect(scale[0]).toBeCloseTo(Math.sqrt(0.75 * 1 + 0.25 * 9), 12);
    expect(scale[1]).toBe(1e-3);
  });

  it('folded into a network is the network behind it', () => {
    const network = {
      layers: [
        { inputs: 2, outputs: 3, activation: 'relu' as const },
        { inputs: 3, outputs: 1, activation: 'linear' as const },
      ],
      weights: [
        Float32Array.of(0.5, -1, 2, 1, 0.25, -0.5),
        Float32Array.of(0.1, 0.2, 0.3),
        Float32Array.of(1, -2, 3),
        Float32Array.of(0.5),
      ],
    };
    const map = standardisationOf(points, 2);
    const folded = foldStandardisation(network, map);
    for (const z of [
      [1, 10],
      [4, 25],
      [-2, 40],
    ]) {
      const behind = new FeedForward(network.layers, network.weights).evaluate(
        standardise(Float32Array.from(z), map),
      );
      expect(new FeedForward(folded.layers, folded.weights).evaluate(z)[0]).toBeCloseTo(behind[0], 5);
    }
  });
});
