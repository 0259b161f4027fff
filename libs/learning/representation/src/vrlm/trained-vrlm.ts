import { Encoder, type EncoderSpec } from '@undertone/artifact';
import { Decoder } from './decoder';
import { publishedNetwork } from './published-network';
import { RADIUS, type VrlmModel } from './vrlm-model';
import { RepresentationError } from './vrlm-settings';

/** An encoder f = ν∘h as an artifact carries it. */
export interface PublishedEncoder extends EncoderSpec {
  /** Kernel [inputs, outputs] (row-major) and bias [outputs] of each layer in turn. */
  readonly weights: readonly Float32Array[];
}

/** Evidence lower bound in nats a record, mean over the last epoch, at the noise that training ended with. */
export interface Elbo {
  readonly total: number;
  /** E_q ln p(x | z̃). */
  readonly reconstruction: number;
  /** KL(q ‖ p), subtracted. */
  readonly divergence: number;
}

/** A trained V-RLM: encoder to publish, decoder to keep. */
export class TrainedVrlm {
  /** s of the learned prior Laplace(0, s). */
  readonly priorScale: number;

  constructor(
    private readonly model: VrlmModel,
    private readonly parameters: Readonly<Record<string, Float32Array>>,
    readonly elbo: Elbo,
  ) {
    this.priorScale = model.priorScale(parameters);
  }

  get settings(): VrlmModel['settings'] {
    return this.model.settings;
  }

  /**
   * The encoder as plain weights.
   *
   * @param at ε of the reports: where the model is conditioned it is folded into the first bias; a fixed model
   *   has one encoder for any ε.
   * @throws RepresentationError `invalid-setting` for a conditioned model without an ε of its training range.
   */
  encoder(at: { epsilon?: number } = {}): PublishedEncoder {
    const network = publishedNetwork(this.model.encoder, this.parameters, this.conditions(at.epsilon));
    return { ...network, projection: { kind: 'l1-ball', radius: RADIUS } };
  }

  /** The decoder for the same ε. */
  decoder(at: { epsilon?: number } = {}): Decoder {
    const network = publishedNetwork(this.model.decoder, this.parameters, this.conditions(at.epsilon));
    return new Decoder(this.model.heads, network);
  }

  private conditions(epsilon: number | undefined): number[] {
    const { mode, epsilonRange } = this.model.settings;
    if (mode === 'fixed') return [];
    if (epsilon === undefined || !(epsilon >= epsilonRange.low && epsilon <= epsilonRange.high)) {
      throw new RepresentationError(
        'invalid-setting',
        `ε is ${epsilon}: an encoder conditioned on ε must be asked for one from ${epsilonRange.low} to ` +
          `${epsilonRange.high}, the range it was trained on`,
      );
    }
    return [Math.log(epsilon)];
  }
}

/**
 * Codes [n, d] of vectorised records [n, D] by the same plain encoder that devices run. In double precision: rounded to
 * float32 a code could lie outside the ball.
 */
export function encodeRecords(encoder: PublishedEncoder, data: Float32Array): Float64Array {
  const inputs = encoder.layers[0].inputs;
  const latent = encoder.layers[encoder.layers.length - 1].outputs;
  const rows = data.length / inputs;
  if (!Number.isInteger(rows)) {
    throw new RepresentationError('invalid-data', `${data.length} numbers are not records of ${inputs}`);
  }
  const plain = new Encoder(encoder, encoder.weights);
  const codes = new Float64Array(rows * latent);
  for (let i = 0; i < rows; i++) codes.set(plain.encode(data, i * inputs), i * latent);
  return codes;
}
