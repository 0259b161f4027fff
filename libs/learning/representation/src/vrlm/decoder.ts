import { type DecoderHead } from '@undertone/artifact';
import { decodeModelFile, encodeModelFile } from '../model-file/model-file';
import { type DenseShape, FeedForward } from '../network/feed-forward';
import { expectedRecord } from './decoder-heads';
import { type PlainNetwork } from './published-network';

const KIND = 'decoder';

/**
 * p(x | z) of a trained V-RLM: what the model believes a record looks like. Kept on the trusted side, for showing what a
 * report still says of its record; nothing on a device needs it.
 */
export class Decoder {
  private readonly network: FeedForward;

  constructor(
    private readonly heads: readonly DecoderHead[],
    network: PlainNetwork,
  ) {
    this.network = new FeedForward(network.layers, network.weights);
  }

  /**
   * The expected record [D] at a representation z [d], clean or noisy, in the units of the encoder's input:
   * probabilities for pixels and levels, means for numeric columns.
   */
  decode(z: ArrayLike<number>): Float64Array {
    return expectedRecord(this.heads, this.network.evaluate(z));
  }

  serialise(): Uint8Array {
    const { layers, weights } = this.network;
    const arrays = Object.fromEntries(weights.map((w, i) => [`weight${i}`, w]));
    return encodeModelFile(KIND, { header: { heads: this.heads, layers }, arrays });
  }

  /** @throws ModelFileError when the bytes are not a whole decoder. */
  static deserialise(bytes: Uint8Array): Decoder {
    const { header, arrays } = decodeModelFile<{ heads: DecoderHead[]; layers: DenseShape[] }>(KIND, bytes);
    const weights = Array.from(
      { length: 2 * header.layers.length },
      (_, i) => arrays[`weight${i}`] as Float32Array,
    );
    return new Decoder(header.heads, { layers: header.layers, weights });
  }
}
