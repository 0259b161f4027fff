import { type Artifact, openArtifact } from '@undertone/artifact';
import { Decoder } from '@undertone/representation';
import { Problem } from '@undertone/service';
import { type MechanismPart, type MechanismRepository, type MechanismSummary } from '@undertone/store';
import { type MechanismDocument, type MechanismSummaryDocument, summaryDocument } from './mechanism-document';

/** The mechanisms that this platform has learned. */
export class PublishedMechanisms {
  constructor(private readonly mechanisms: MechanismRepository) {}

  async list(): Promise<MechanismSummaryDocument[]> {
    return (await this.mechanisms.list()).map(summaryDocument);
  }

  /** @param reference an artifact's id, or a name: then the newest of that name. @throws Problem `unknown-mechanism` */
  async show(reference: string): Promise<MechanismDocument> {
    const found = await this.find(reference);
    const { labels, schema, encoder, randomiser } = (await this.artifact(found.id)).body;
    return {
      ...summaryDocument(found),
      labels: [...labels],
      schema: { ...schema },
      encoder: { ...encoder },
      randomiser: { ...randomiser },
    };
  }

  /**
   * What the model believes records look like that have these representations, clean or privatised. Images come back in
   * the units of their pixels, rows of a table as the encoder sees them.
   *
   * @param representations each of the mechanism's dimension, finite
   * @throws Problem `unknown-mechanism`, `invalid-record`
   */
  async reconstruct(reference: string, representations: readonly number[][]): Promise<number[][]> {
    const { id } = await this.find(reference);
    const { body, randomiser } = await this.artifact(id);
    const wrong = representations.findIndex(({ length }) => length !== randomiser.dimension);
    if (wrong >= 0) {
      const field = `representations[${wrong}]`;
      const detail = `has ${representations[wrong].length} numbers: it must have ${randomiser.dimension}`;
      throw new Problem('invalid-record', `${field} ${detail}`, { errors: [{ field, detail }] });
    }
    const decoder = Decoder.deserialise(await this.part(id, 'decoder'));
    const scale = body.schema.kind === 'image' ? body.schema.maximum : 1;
    return representations.map((z) => Array.from(decoder.decode(z), (value) => value * scale));
  }

  private async find(reference: string): Promise<MechanismSummary> {
    const found = await this.mechanisms.find(reference);
    if (found) return found;
    throw new Problem(
      'unknown-mechanism',
      `there is no mechanism with the id or name "${reference}"; GET /v1/mechanisms lists those that there are`,
    );
  }

  private async artifact(id: string): Promise<Artifact> {
    return openArtifact(await this.part(id, 'file'), { trustedKeys: 'any-signer', expectedId: id });
  }

  private async part(id: string, part: MechanismPart): Promise<Uint8Array> {
    const bytes = await this.mechanisms.read(id, part);
    if (bytes) return bytes;
    throw new Problem('unknown-mechanism', `mechanism ${id} is here without its ${part}`);
  }
}
