import { createRandomiser, type Randomiser } from '@undertone/ldp';
import { DeterministicRandom } from '@undertone/ldp/testing';
import { type Prior } from '@undertone/representation';

/** Four classes, one at each vertex of the unit L1 ball in the plane; class 3 is twice as common as each other. */
export const VERTICES = [
  [1, 0],
  [0, 1],
  [-1, 0],
  [0, -1],
];
export const LABELS = ['east', 'north', 'west', 'south'];

export const toyPrior: Prior = {
  dimension: 2,
  points: Float32Array.from(VERTICES.flat()),
  weights: Float64Array.of(0.2, 0.2, 0.2, 0.4),
};

export function toyRandomiser(epsilon: number, epsilonLabel: number): Randomiser {
  return createRandomiser({
    kind: 'factorised',
    representation: { kind: 'laplace-l1', dimension: 2, radius: 1, epsilon },
    label: { kind: 'k-rr', classes: 4, epsilon: epsilonLabel },
  });
}

/** The classes of n records, in the prior's proportions. */
export const toyClasses = (n: number): number[] =>
  Array.from({ length: n }, (_, i) => [0, 1, 2, 3, 3][i % 5]);

export function toyReports(randomiser: Randomiser, n: number, seed: number): Uint8Array[] {
  const random = new DeterministicRandom(seed);
  return toyClasses(n).map((y) => randomiser.randomise(VERTICES[y], y, random));
}
