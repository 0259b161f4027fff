import { createRandomiser, type Randomiser, type RandomiserSpec } from '@undertone/ldp';
import {
  decodeModelFile,
  encodeModelFile,
  FeedForward,
  type DenseShape,
  type Plain,
  type Prior,
} from '@undertone/representation';
import { ClassificationError } from '../classification-error';
import { PrototypePosterior, requirePrior } from '../likelihood/likelihood-table';
import { softmax } from './softmax';

export interface ClassifierParts {
  /** K names; class k is labels[k]. */
  labels: readonly string[];
  /** The mechanism's: which reports it reads. */
  randomiser: Randomiser;
  prior: Prior;
  /** The network of p_ψ(y | z): codes [d] to logits [K]. */
  layers: readonly DenseShape[];
  weights: readonly Float32Array[];
  /** Where it comes from: task, artifact, objective, settings, seed … as the caller states it. */
  lineage: { readonly [key: string]: Plain };
}

interface Header {
  labels: string[];
  randomiser: RandomiserSpec;
  layers: DenseShape[];
  lineage: { [key: string]: Plain };
}

const KIND = 'classifier';

/**
 * A fitted p_ψ(y | z) with the prior it was fitted over. Answers for clean representations, and for privatised ones by
 * averaging over the prototypes that each may have come from. Plain TypeScript: safe where requests are answered.
 */
export class Classifier {
  readonly labels: readonly string[];
  readonly dimension: number;
  readonly lineage: { readonly [key: string]: Plain };

  private readonly network: FeedForward;
  private readonly posterior?: PrototypePosterior;
  /** [M, K]: p_ψ(y | z′_m). */
  private readonly ofPrototype: Float64Array;

  /** @throws ClassificationError `invalid-input` where labels, network, prior and mechanism don't belong together. */
  constructor(private readonly parts: ClassifierParts) {
    const { labels, randomiser, prior, layers, weights, lineage } = parts;
    this.labels = labels;
    this.dimension = randomiser.dimension;
    this.lineage = lineage;
    this.network = new FeedForward(layers, weights);
    requirePrior(prior, randomiser.dimension);
    if (labels.length !== randomiser.classes || this.network.outputs !== labels.length) {
      throw new ClassificationError(
        'invalid-input',
        `${labels.length} labels, ${randomiser.classes} classes of the mechanism, ${this.network.outputs} outputs of ` +
          'the network: they must be as many',
      );
    }
    if (this.network.inputs !== this.dimension) {
      throw new ClassificationError(
        'invalid-input',
        `network of ${this.network.inputs} inputs for representations of dimension ${this.dimension}`,
      );
    }
    this.ofPrototype = new Float64Array(prior.weights.length * labels.length);
    for (let m = 0; m < prior.weights.length; m++) {
      const point = prior.points.subarray(m * this.dimension, (m + 1) * this.dimension);
      this.ofPrototype.set(this.clean(point), m * labels.length);
    }
    if (randomiser.input) this.posterior = new PrototypePosterior(randomiser.input, prior);
  }

  get randomiser(): Randomiser {
    return this.parts.randomiser;
  }

  get prior(): Prior {
    return this.parts.prior;
  }

  /** p(y | z) [K] of a clean representation z [d]. */
  clean(z: ArrayLike<number>): Float64Array {
    return softmax(this.network.evaluate(z));
  }

  /**
   * p(y | z̃) = Σ_m w_m(z̃) p_ψ(y | z′_m) [K] of a privatised input: a payload of the mechanism's `input` randomiser.
   *
   * @throws ClassificationError `unsupported` where the mechanism has none, `impossible-report` on a payload that it
   *   never sends.
   */
  private(payload: Uint8Array): Float64Array {
    const { input } = this.randomiser;
    if (!input || !this.posterior) {
      throw new ClassificationError(
        'unsupported',
        "this mechanism can't randomise an unlabelled record: it has no private-input prediction",
      );
    }
    const fault = input.fault(payload);
    if (fault !== undefined) throw new ClassificationError('impossible-report', fault);
    const { prior } = this.parts;
    const K = this.labels.length;
    const weights = this.posterior.weights(payload, new Float64Array(prior.weights.length));
    const probabilities = new Float64Array(K);
    weights.forEach((w, m) => {
      for (let y = 0; y < K; y++) probabilities[y] += w * this.ofPrototype[m * K + y];
    });
    return probabilities;
  }

  /** Deterministic bytes with a checksum: equal classifiers have equal files. */
  serialise(): Uint8Array {
    const { labels, randomiser, prior, layers, weights, lineage } = this.parts;
    const header = { labels, randomiser: randomiser.spec, layers, lineage };
    const arrays: Record<string, Float32Array | Float64Array> = {
      'prior.points': prior.points,
      'prior.weights': prior.weights,
    };
    weights.forEach((w, i) => (arrays[weightName(i)] = w));
    return encodeModelFile(KIND, { header, arrays });
  }

  /**
   * @param randomiserOf makes the mechanism of a stored spec.
   * @throws ModelFileError on bytes that are not a whole classifier.
   */
  static deserialise(
    bytes: Uint8Array,
    randomiserOf: (spec: RandomiserSpec) => Randomiser = createRandomiser,
  ): Classifier {
    const { header, arrays } = decodeModelFile<Header>(KIND, bytes);
    const randomiser = randomiserOf(header.randomiser);
    return new Classifier({
      labels: header.labels,
      randomiser,
      prior: {
        dimension: randomiser.dimension,
        points: arrays['prior.points'] as Float32Array,
        weights: arrays['prior.weights'] as Float64Array,
      },
      layers: header.layers,
      weights: Array.from(
        { length: 2 * header.layers.length },
        (_, i) => arrays[weightName(i)] as Float32Array,
      ),
      lineage: header.lineage,
    });
  }
}

const weightName = (i: number): string => `layer${Math.floor(i / 2)}.${i % 2 === 0 ? 'kernel' : 'bias'}`;
