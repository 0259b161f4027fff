import { DeterministicRandom } from '../../testing/deterministic-random';
import { SmallJoint } from '../../testing/small-joint';
import { createRandomiser } from '../create-randomiser';
import { LaplaceL1 } from '../laplace-l1/laplace-l1';
import type { RandomiserSpec } from '../randomiser';

const spec: RandomiserSpec = {
  kind: 'factorised',
  representation: { kind: 'laplace-l1', dimension: 3, radius: 1, epsilon: 0.7 },
  label: { kind: 'k-rr', classes: 4, epsilon: 0.1 },
};

describe('Factorised', () => {
  const randomiser = createRandomiser(spec);
  const z = [0.5, -0.25, 0.1];

  it('sends the representation, then the label', () => {
    const payload = randomiser.randomise(z, 3, new DeterministicRandom(1));
    expect(payload).toHaveLength(13);
    expect(randomiser.payloadBytes).toBe(13);
    const { representation, label } = randomiser.factors!.split(payload);
    expect([...representation, ...label]).toEqual([...payload]);
    expect(LaplaceL1.decode(representation)).toHaveLength(3);
    expect(label[0]).toBeLessThan(4);
    expect(randomiser.isPossible(payload)).toBe(true);
  });

  it('composes the claims, rounding ε up', () => {
    expect(randomiser.claim).toEqual({
      kind: 'pure-ldp',
      epsilon: 0.8,
      delta: 0,
      parts: [
        { of: 'representation', epsilon: 0.7 },
        { of: 'label', epsilon: 0.1 },
      ],
      neighbouring: 'any-two-records',
      composition: 'basic',
      assumptions: ['idealised-real-arithmetic', 'one-report-per-record'],
    });
    expect(Object.isFrozen(randomiser.claim.parts[0])).toBe(true);
  });

  it('has the likelihood of a product, report by report and in a table', () => {
    const payload = randomiser.randomise(z, 1, new DeterministicRandom(2));
    const { representation, label } = randomiser.factors!.split(payload);
    const points = [z, [0, 0, 0]];
    const table = new Float64Array(8);
    randomiser.logLikelihoods(payload, points.flat(), table);
    points.forEach((point, m) => {
      for (let y = 0; y < 4; y++) {
        const product =
          randomiser.factors!.representation.logLikelihood(representation, point) +
          randomiser.factors!.label.logLikelihood(label, y);
        expect(randomiser.logLikelihood(payload, point, y)).toBeCloseTo(product, 12);
        expect(table[m * 4 + y]).toBeCloseTo(product, 12);
      }
    });
  });

  it('draws label and representation from bytes of their own', () => {
    const random = new DeterministicRandom(7);
    let together = 0;
    const n = 10_000;
    for (let i = 0; i < n; i++) {
      const { representation, label } = randomiser.factors!.split(randomiser.randomise([0, 0, 0], 0, random));
      together += Math.sign(LaplaceL1.decode(representation)[0]) * (label[0] === 0 ? 1 : -1);
    }
    expect(Math.abs(together) / n).toBeLessThan(5 / Math.sqrt(n));
  });

  it('names what is wrong with a payload, wherever it is', () => {
    const payload = randomiser.randomise(z, 1, new DeterministicRandom(2));
    const wrongLabel = payload.slice();
    wrongLabel[12] = 4;
    const notANumber = payload.slice();
    notANumber.set([0, 0, 0xc0, 0x7f], 4);
    expect(randomiser.fault(wrongLabel)).toBe('the label is 4: it must be below 4');
    expect(randomiser.fault(notANumber)).toMatch(/coordinate 1 is NaN/);
    expect(randomiser.fault(payload.subarray(1))).toMatch(/12 bytes: it must have 13/);
    expect(randomiser.isPossible(wrongLabel)).toBe(false);
    expect(() => randomiser.logLikelihood(payload.subarray(1), z, 0)).toThrow(/12 bytes/);
    expect(() => randomiser.logLikelihoods(payload, z, new Float64Array(3))).toThrow(/multiple of the 4/);
  });

  it('refuses records outside its domain', () => {
    const random = new DeterministicRandom(1);
    expect(() => randomiser.randomise([1, 1, 1], 0, random)).toThrow(/‖z‖₁ is 3/);
    expect(() => randomiser.randomise(z, 4, random)).toThrow(/label is 4/);
  });

  it('refuses kinds that it does not know', () => {
    const unknown = { kind: 'later' } as unknown as RandomiserSpec;
    expect(() => createRandomiser(unknown)).toThrow(/later: this version knows factorised/);
    expect(() => createRandomiser(undefined as unknown as RandomiserSpec)).toThrow(/undefined/);
    expect(() =>
      createRandomiser({ ...spec, label: { ...spec.label, kind: 'later' } } as unknown as RandomiserSpec),
    ).toThrow(/later: this version knows k-rr/);
    expect(() =>
      createRandomiser({ ...spec, representation: undefined } as unknown as RandomiserSpec),
    ).toThrow(/representation randomiser is undefined/);
  });
});

describe('the toy joint randomiser of the specs', () => {
  it('is ε-LDP over pairs and normalised: all outputs of all pairs', () => {
    const joint = new SmallJoint({ dimension: 2, classes: 3, epsilon: 1.5 });
    const pairs = [
      [1, 0],
      [-1, 0],
      [0, 1],
      [0, -1],
    ].flatMap((z) => [0, 1, 2].map((y) => ({ z, y })));
    const outputs = Array.from({ length: 12 }, (_, s) => Uint8Array.of(s));
    for (const { z, y } of pairs) {
      const total = outputs.reduce((sum, s) => sum + Math.exp(joint.logLikelihood(s, z, y)), 0);
      expect(total).toBeCloseTo(1, 12);
      for (const other of pairs) {
        for (const s of outputs) {
          const ratio = joint.logLikelihood(s, z, y) - joint.logLikelihood(s, other.z, other.y);
          expect(ratio).toBeLessThanOrEqual(1.5 + 1e-12);
        }
      }
    }
    const table = new Float64Array(3);
    joint.logLikelihoods(outputs[4], [0, 1], table);
    expect([...table]).toEqual([0, 1, 2].map((y) => joint.logLikelihood(outputs[4], [0, 1], y)));
    expect('input' in joint || 'factors' in joint).toBe(false);
  });
});
