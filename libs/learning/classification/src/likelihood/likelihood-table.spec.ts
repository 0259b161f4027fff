import { createRandomiser, type Randomiser } from '@undertone/ldp';
import { DeterministicRandom, SmallJoint } from '@undertone/ldp/testing';
import { type Prior } from '@undertone/representation';
import fc from 'fast-check';
import { type ClassificationError } from '../classification-error';
import { likelihoodTable, PrototypePosterior } from './likelihood-table';
import oracle from './posterior.oracle.json';

const priorOf = (points: number[][], weights?: number[]): Prior => ({
  dimension: points[0].length,
  points: Float32Array.from(points.flat()),
  weights: Float64Array.from(weights ?? points.map(() => 1 / points.length)),
});

const factorised = (dimension: number, classes: number, epsilon: number, epsilonLabel: number): Randomiser =>
  createRandomiser({
    kind: 'factorised',
    representation: { kind: 'laplace-l1', dimension, radius: 1, epsilon },
    label: { kind: 'k-rr', classes, epsilon: epsilonLabel },
  });

const payloadOf = (z: number[], label: number): Uint8Array =>
  Uint8Array.from([...new Uint8Array(Float32Array.from(z).buffer), label]);

/** The same randomiser as one that doesn't tell that it is a product. */
const unfactored = (randomiser: Randomiser): Randomiser =>
  new Proxy(randomiser, { get: (t, key) => (key === 'factors' ? undefined : Reflect.get(t, key, t)) });

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no error',
    (e: ClassificationError) => e.code,
  );

describe('posterior weights', () => {
  it.each(oracle.cases)('agree with the oracle at ε_x = $epsilon_x', ({ epsilon_x, epsilon_y, weights }) => {
    const { factors } = factorised(3, 3, epsilon_x, epsilon_y);
    const posterior = new PrototypePosterior(factors!.representation, priorOf(oracle.reference_points));
    oracle.reports.forEach((report, n) => {
      const { representation } = factors!.split(payloadOf(report, 0));
      const got = posterior.weights(representation, new Float64Array(5));
      // Payload and prototypes are float32, the oracle's numbers are not.
      got.forEach((w, m) => expect(Math.abs(w / weights[n][m] - 1)).toBeLessThan(1e-6));
    });
  });

  it('split a prototype into two of half the weight and nothing changes', () => {
    const { factors } = factorised(2, 2, 3, 1);
    const payload = factors!.split(payloadOf([0.4, -0.9], 0)).representation;
    const [a, b] = [[0.5, 0.25], [-0.25, 0.5]]; // prettier-ignore
    const whole = new PrototypePosterior(factors!.representation, priorOf([a, b], [0.8, 0.2]));
    const split = new PrototypePosterior(factors!.representation, priorOf([a, a, b], [0.4, 0.4, 0.2]));
    const [first, second] = whole.weights(payload, new Float64Array(2));
    const parts = split.weights(payload, new Float64Array(3));
    expect(parts[0] + parts[1]).toBeCloseTo(first, 12);
    expect(parts[2]).toBeCloseTo(second, 12);
  });

  it('sum to 1 however unlikely the report', () => {
    const random = new DeterministicRandom(1);
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 500, noNaN: true }), fc.nat(1e6), (epsilon, seed) => {
        const randomiser = factorised(4, 2, epsilon, 1);
        const unit = (s: number): number[] => [0, 1, 2, 3].map((i) => Math.sin(s * (i + 1)) / 4);
        const prior = priorOf([unit(seed), unit(seed + 1), unit(seed + 2)], [0.7, 0.2, 0.1]);
        const payload = randomiser.factors!.split(randomiser.randomise(unit(seed + 3), 0, random));
        const weights = new PrototypePosterior(randomiser.factors!.representation, prior).weights(
          payload.representation,
          new Float64Array(3),
        );
        expect(weights.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 12);
      }),
      { numRuns: 100 },
    );
  });
});

describe('likelihood table', () => {
  const random = new DeterministicRandom(7);
  const points = [[0.5, 0.25], [-0.25, 0.5], [0, -1]]; // prettier-ignore
  const prior = priorOf(points, [0.5, 0.3, 0.2]);
  const draw = (randomiser: Randomiser, n: number): Uint8Array[] =>
    Array.from({ length: n }, (_, i) => randomiser.randomise(points[i % 3], i % randomiser.classes, random));

  it('of a product keeps the exact label likelihood', async () => {
    const randomiser = factorised(2, 3, 2, 1.5);
    const payloads = draw(randomiser, 20);
    const table = await likelihoodTable({ randomiser, payloads, prior });
    if (table.kind !== 'factorised') throw new Error('expected a factorised table');
    const keep = Math.exp(1.5) / (Math.exp(1.5) + 2);
    payloads.forEach((payload, n) => {
      const sent = payload[payload.length - 1];
      for (let y = 0; y < 3; y++) {
        expect(table.label[3 * n + y]).toBeCloseTo(y === sent ? keep : (1 - keep) / 2, 6);
      }
    });
  });

  it('of a product is the general table up to a factor a row', async () => {
    const randomiser = factorised(2, 3, 2, 1.5);
    const payloads = draw(randomiser, 30);
    const product = await likelihoodTable({ randomiser, payloads, prior });
    const general = await likelihoodTable({ randomiser: unfactored(randomiser), payloads, prior });
    if (product.kind !== 'factorised' || general.kind !== 'joint') throw new Error('wrong kinds');
    payloads.forEach((_, n) => {
      const labels = product.label.subarray(3 * n, 3 * n + 3);
      const total = labels.reduce((a, b) => a + b, 0);
      for (let m = 0; m < 3; m++) {
        for (let y = 0; y < 3; y++) {
          const expected = (product.representation[3 * n + m] * labels[y]) / total;
          expect(general.pair[9 * general.rowOf[n] + 3 * m + y]).toBeCloseTo(expected, 6);
        }
      }
    });
  });

  it('of a joint report agrees with the slow sum and keeps one row a distinct payload', async () => {
    const randomiser = new SmallJoint({ dimension: 2, classes: 3, epsilon: 2 });
    const payloads = draw(randomiser, 200);
    const table = await likelihoodTable({ randomiser, payloads, prior });
    if (table.kind !== 'joint') throw new Error('expected a joint table');
    expect(table.pair.length / 9).toBe(new Set(payloads.map((p) => p.join())).size);
    payloads.forEach((payload, n) => {
      const likelihood = points.flatMap((z, m) =>
        [0, 1, 2].map((y) => prior.weights[m] * Math.exp(randomiser.logLikelihood(payload, z, y))),
      );
      const total = likelihood.reduce((a, b) => a + b, 0);
      likelihood.forEach((l, i) => expect(table.pair[9 * table.rowOf[n] + i]).toBeCloseTo(l / total, 6));
    });
  });

  it('refuses what can not be a table', async () => {
    const randomiser = factorised(2, 3, 2, 1.5);
    const payloads = draw(randomiser, 3);
    payloads[1] = payloads[1].map((b, i) => (i === 8 ? 3 : b));
    await expect(likelihoodTable({ randomiser, payloads, prior })).rejects.toThrow(
      /report 1: the label is 3/,
    );
    expect(await codeOf(likelihoodTable({ randomiser, payloads: [], prior }))).toBe('invalid-input');
    const other = priorOf([[0, 0, 0]]);
    await expect(
      likelihoodTable({ randomiser, payloads: draw(randomiser, 1), prior: other }),
    ).rejects.toThrow(/dimension 3 for a mechanism of dimension 2/);
    const one = draw(randomiser, 1)[0];
    const huge = new Array<Uint8Array>(2e5).fill(one);
    const wide = priorOf(new Array<number[]>(3000).fill([0, 0]));
    await expect(likelihoodTable({ randomiser, payloads: huge, prior: wide })).rejects.toThrow(
      /fewer prototypes/,
    );
  });

  it('stops when cancelled', async () => {
    const randomiser = factorised(2, 3, 2, 1.5);
    const abort = new AbortController();
    const seen: number[] = [];
    const payloads = new Array<Uint8Array>(10_000).fill(draw(randomiser, 1)[0]);
    const table = likelihoodTable({
      randomiser,
      payloads,
      prior,
      signal: abort.signal,
      onProgress: (done) => {
        seen.push(done);
        abort.abort();
      },
    });
    expect(await codeOf(table)).toBe('cancelled');
    expect(seen).toEqual([2048]);
  });
});
