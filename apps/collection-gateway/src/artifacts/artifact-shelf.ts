import { openArtifact } from '@undertone/artifact';
import { type Randomiser } from '@undertone/ldp';
import { type Store } from '@undertone/store';
import { LRUCache } from 'lru-cache';

/** What the gateway needs of a published artifact. It never encodes a record, so the weights aren't kept apart. */
export interface ShelvedArtifact {
  readonly id: string;
  /** The signed bytes, as devices fetch them. */
  readonly file: Buffer;
  /** Ed25519 public key, hex. */
  readonly signer: string;
  readonly labels: readonly string[];
  /** The whole ε of one report. */
  readonly epsilon: number;
  readonly randomiser: Randomiser;
}

const SHELF_BYTES = 256 * 1024 * 1024;

/** Published artifacts by id, in memory once asked for: an id never changes its bytes. */
export class ArtifactShelf {
  private readonly shelf: LRUCache<string, ShelvedArtifact>;

  constructor(private readonly mechanisms: Pick<Store['mechanisms'], 'read'>) {
    this.shelf = new LRUCache({
      maxSize: SHELF_BYTES,
      sizeCalculation: ({ file }) => file.length,
      fetchMethod: (id) => this.load(id),
    });
  }

  /** @throws ArtifactError where the stored file is damaged */
  find(id: string): Promise<ShelvedArtifact | undefined> {
    return this.shelf.fetch(id);
  }

  private async load(id: string): Promise<ShelvedArtifact | undefined> {
    const bytes = await this.mechanisms.read(id, 'file');
    if (bytes === undefined) return undefined;
    const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const { body, signer, randomiser } = openArtifact(file, { trustedKeys: 'any-signer', expectedId: id });
    return { id, file, signer, labels: body.labels, epsilon: body.claim.epsilon, randomiser };
  }
}
