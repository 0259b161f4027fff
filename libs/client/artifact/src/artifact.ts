import type { Randomiser } from '@undertone/ldp';
import type { ArtifactBody } from './body/artifact-body';
import { Encoder } from './encoder/encoder';
import { InputError } from './input-schema/input-error';
import { inputDimension, vectorise, type RawRecord } from './input-schema/input-schema';

/** An opened, verified artifact: only `openArtifact` makes one. */
export class Artifact {
  /** SHA-256 of the canonical content, 64 hexadecimal digits. */
  readonly id: string;
  /** The Ed25519 public key that signed it, 64 hexadecimal digits. */
  readonly signer: string;
  /** Frozen. */
  readonly body: ArtifactBody;
  readonly randomiser: Randomiser;

  private readonly encoder: Encoder;
  private readonly layerWeights: readonly Float32Array[];
  private readonly inputs: number;

  constructor(parts: {
    id: string;
    signer: string;
    body: ArtifactBody;
    randomiser: Randomiser;
    weights: readonly Float32Array[];
  }) {
    this.id = parts.id;
    this.signer = parts.signer;
    this.body = parts.body;
    this.randomiser = parts.randomiser;
    this.layerWeights = parts.weights;
    this.encoder = new Encoder(parts.body.encoder, parts.weights);
    this.inputs = inputDimension(parts.body.schema);
  }

  /** The encoder's input of a raw record. @throws InputError. */
  vectorise(record: RawRecord): Float32Array {
    return vectorise(this.body.schema, record);
  }

  /**
   * z = f(x) `[latent]` of an encoder's input x `[inputs]`: Σ|zᵢ| ≤ radius over the reals.
   *
   * @throws InputError `wrong-dimension`, or `not-a-number` for a number that isn't finite.
   */
  encode(vector: ArrayLike<number>): Float64Array {
    if (vector.length !== this.inputs) {
      throw new InputError(
        'wrong-dimension',
        `the input has ${vector.length} numbers: it must have ${this.inputs}`,
      );
    }
    return this.encoder.encode(vector, 0);
  }

  /** The codes `[n, latent]` of the rows of `vectors` `[n, inputs]`, both row-major; the same numbers as `encode`. */
  encodeBatch(vectors: ArrayLike<number>): Float64Array {
    const rows = vectors.length / this.inputs;
    if (!Number.isInteger(rows)) {
      throw new InputError(
        'wrong-dimension',
        `there are ${vectors.length} numbers: it must be a multiple of ${this.inputs}`,
      );
    }
    const codes = new Float64Array(rows * this.randomiser.dimension);
    for (let i = 0; i < rows; i++) {
      codes.set(this.encoder.encode(vectors, i * this.inputs), i * this.randomiser.dimension);
    }
    return codes;
  }

  /** Copies of the weights: kernel `[inputs, outputs]` row-major and bias `[outputs]` of each layer, in order. */
  weights(): Float32Array[] {
    return this.layerWeights.map((array) => array.slice());
  }
}
