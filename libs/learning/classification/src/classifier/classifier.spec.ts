import { SmallJoint } from '@undertone/ldp/testing';
import { DeterministicRandom } from '@undertone/ldp/testing';
import { LABELS, toyPrior, toyRandomiser, VERTICES } from '../../testing/toy-task';
import { type ClassificationError } from '../classification-error';
import { Classifier, type ClassifierParts } from './classifier';
import { mostLikely, softmax } from './softmax';

const parts = (change: Partial<ClassifierParts> = {}): ClassifierParts => ({
  labels: LABELS,
  randomiser: toyRandomiser(2, 1),
  prior: toyPrior,
  layers: [{ inputs: 2, outputs: 4, activation: 'linear' }],
  weights: [Float32Array.of(3, 0, -3, 0, 0, 3, 0, -3), Float32Array.of(0.1, 0, 0, 0)],
  lineage: { task: 'toy', settings: { epochs: 3 } },
  ...change,
});

const codeOf = (act: () => unknown): string => {
  try {
    act();
    return 'no error';
  } catch (e) {
    return (e as ClassificationError).code;
  }
};

describe('classifier', () => {
  it('answers clean inputs by softmax of its network', () => {
    const p = new Classifier(parts()).clean([0.5, -0.25]);
    const logits = [1.6, -0.75, -1.5, 0.75];
    const sum = logits.reduce((s, r) => s + Math.exp(r), 0);
    logits.forEach((r, y) => expect(p[y]).toBeCloseTo(Math.exp(r) / sum, 6));
  });

  it('answers private inputs by the mean over prototypes, weighted as each explains the report', () => {
    const classifier = new Classifier(parts());
    const { input } = classifier.randomiser;
    const payload = input!.randomise([0.5, 0.5], new DeterministicRandom(2));
    const likelihood = VERTICES.map(
      (z, m) => toyPrior.weights[m] * Math.exp(input!.logLikelihood(payload, z)),
    );
    const total = likelihood.reduce((a, b) => a + b);
    const expected = LABELS.map((_, y) =>
      VERTICES.reduce((s, z, m) => s + (likelihood[m] / total) * classifier.clean(z)[y], 0),
    );
    const p = classifier.private(payload);
    expected.forEach((v, y) => expect(p[y]).toBeCloseTo(v, 9));
    expect(p.reduce((a, b) => a + b)).toBeCloseTo(1, 12);
  });

  it('survives being written and read, with the same bytes', () => {
    const classifier = new Classifier(parts());
    const bytes = classifier.serialise();
    const back = Classifier.deserialise(bytes);
    expect(Buffer.from(back.serialise())).toEqual(Buffer.from(bytes));
    expect(back.clean([0.2, 0.3])).toEqual(classifier.clean([0.2, 0.3]));
    expect(back.lineage).toEqual(classifier.lineage);
    expect(back.labels).toEqual(LABELS);
    expect(() => Classifier.deserialise(bytes.map((b, i) => (i === 200 ? b ^ 1 : b)))).toThrow(/damaged/);
  });

  it('has no private answer where the mechanism takes no unlabelled record', () => {
    const joint = new SmallJoint({ dimension: 2, classes: 4, epsilon: 3 });
    const classifier = new Classifier(parts({ randomiser: joint }));
    expect(codeOf(() => classifier.private(Uint8Array.of(1)))).toBe('unsupported');
    const back = Classifier.deserialise(classifier.serialise(), () => joint);
    expect(back.clean([1, 0])).toEqual(classifier.clean([1, 0]));
  });

  it('refuses impossible payloads and parts that do not belong together', () => {
    const classifier = new Classifier(parts());
    expect(codeOf(() => classifier.private(new Uint8Array(3)))).toBe('impossible-report');
    expect(codeOf(() => new Classifier(parts({ labels: ['a', 'b'] })))).toBe('invalid-input');
    const wide = { dimension: 3, points: new Float32Array(3), weights: Float64Array.of(1) };
    expect(codeOf(() => new Classifier(parts({ prior: wide })))).toBe('invalid-input');
    const one = {
      layers: [{ inputs: 1, outputs: 4, activation: 'linear' as const }],
      weights: [new Float32Array(4), new Float32Array(4)],
    };
    expect(codeOf(() => new Classifier(parts(one)))).toBe('invalid-input');
  });
});

describe('softmax', () => {
  it('does not overflow', () => {
    expect([...softmax([1000, 1000, -1000])]).toEqual([0.5, 0.5, 0]);
    expect(mostLikely([0.1, 0.6, 0.6])).toBe(1);
  });
});
