import { type Randomiser, type RandomSource, WebCryptoRandom } from '@undertone/ldp';
import { DeterministicRandom, SmallJoint } from '@undertone/ldp/testing';
import { LABELS, toyPrior, toyRandomiser, VERTICES } from '../../testing/toy-task';
import { Classifier } from '../classifier/classifier';
import { evaluate, floorWithoutReports, privatiseInputs } from './evaluate';
import { PrivacyAlarm } from './privacy-alarm';

/** A classifier that is right on every clean vertex. */
const perfect = (randomiser: Randomiser): Classifier =>
  new Classifier({
    labels: LABELS,
    randomiser,
    prior: toyPrior,
    layers: [{ inputs: 2, outputs: 4, activation: 'linear' }],
    weights: [Float32Array.of(9, 0, -9, 0, 0, 9, 0, -9), new Float32Array(4)],
    lineage: {},
  });

const truth = Array.from({ length: 2000 }, (_, i) => i % 4);
const codes = Float64Array.from(truth.flatMap((y) => VERTICES[y]));

/** The same mechanism with its noise left out: what it says of itself is unchanged. */
function withoutNoise(randomiser: Randomiser): Randomiser {
  const input = new Proxy(randomiser.input!, {
    get: (target, key) =>
      key === 'randomise'
        ? (z: ArrayLike<number>, _random: RandomSource) => new Uint8Array(Float32Array.from(z).buffer)
        : Reflect.get(target, key, target),
  });
  return new Proxy(randomiser, {
    get: (target, key) => (key === 'input' ? input : Reflect.get(target, key, target)),
  });
}

describe('evaluation', () => {
  it('measures clean and private inputs and compares the latter with their ceiling', () => {
    const randomiser = toyRandomiser(2, 1);
    const payloads = privatiseInputs(randomiser, codes, new WebCryptoRandom());
    const { clean, private: noisy } = evaluate({
      classifier: perfect(randomiser),
      codes,
      labels: truth,
      payloads,
    });
    expect(clean).toMatchObject({ rows: 2000, accuracy: 1, balanced: 1 });
    expect(noisy!.check).toMatchObject({ epsilon: 2, classes: 4, verdict: 'below-ceiling' });
    expect(noisy!.check.ceiling).toBeCloseTo(Math.E ** 2 / (Math.E ** 2 + 3), 12);
    expect(noisy!.balanced).toBeGreaterThan(0.3);
    expect(noisy!.balanced).toBeLessThan(noisy!.check.ceiling);
  });

  it('sounds the alarm when the noise is left out', () => {
    const broken = withoutNoise(toyRandomiser(2, 1));
    const payloads = privatiseInputs(broken, codes, new WebCryptoRandom());
    const request = { classifier: perfect(broken), codes, labels: truth, payloads };
    expect(() => evaluate(request)).toThrow(PrivacyAlarm);
    expect(() => evaluate(request)).toThrow(
      /100.00 % .* above 71.12 %, the most that one ε = 2 report allows/,
    );
  });

  it('sounds the alarm when a mechanism adds a third of the noise that it claims', () => {
    const claimed = toyRandomiser(1, 1);
    const payloads = privatiseInputs(toyRandomiser(3, 1), codes, new DeterministicRandom(8))!;
    expect(() => evaluate({ classifier: perfect(claimed), codes, labels: truth, payloads })).toThrow(
      PrivacyAlarm,
    );
  });

  it('measures clean inputs alone where the mechanism takes no unlabelled record', () => {
    const joint = new SmallJoint({ dimension: 2, classes: 4, epsilon: 3 });
    expect(privatiseInputs(joint, codes, new WebCryptoRandom())).toBeUndefined();
    const evaluation = evaluate({ classifier: perfect(joint), codes, labels: truth });
    expect(evaluation.clean.accuracy).toBe(1);
    expect(evaluation.private).toBeUndefined();
  });

  it('refuses shapes that do not fit', () => {
    const classifier = perfect(toyRandomiser(2, 1));
    expect(() => evaluate({ classifier, codes, labels: [0] })).toThrow(/1 labels with 4000 numbers/);
    expect(() => evaluate({ classifier, codes, labels: truth, payloads: [] })).toThrow(/0 privatised inputs/);
  });

  it('knows what can be had without a report', () => {
    expect(floorWithoutReports([0, 0, 0, 1], 4)).toEqual({ balanced: 0.5, accuracy: 0.75 });
  });
});
