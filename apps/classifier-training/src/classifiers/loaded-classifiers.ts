import { type Artifact, openArtifact } from '@undertone/artifact';
import { Classifier } from '@undertone/classification';
import { type Store } from '@undertone/store';

/** A classifier ready to answer, with the artifact whose encoder reads clean records for it. */
export interface LoadedClassifier {
  classifier: Classifier;
  artifact: Artifact;
}

const KEPT = 8;

/** Keeps the classifiers that were last asked for in memory: one never changes, as its id is the hash of its content. */
export class LoadedClassifiers {
  private readonly loaded = new Map<string, Promise<LoadedClassifier>>();

  constructor(private readonly store: Pick<Store, 'classifiers' | 'mechanisms'>) {}

  /** @param found what the store knows of the classifier */
  get(found: { id: string; artifact: string }): Promise<LoadedClassifier> {
    const { id } = found;
    const known = this.loaded.get(id);
    const loading = known ?? this.load(found);
    this.loaded.delete(id);
    this.loaded.set(id, loading);
    if (this.loaded.size > KEPT) this.loaded.delete([...this.loaded.keys()][0]);
    if (!known) void loading.catch(() => this.loaded.delete(id));
    return loading;
  }

  private async load({ id, artifact }: { id: string; artifact: string }): Promise<LoadedClassifier> {
    const [file, artifactFile] = await Promise.all([
      this.store.classifiers.readFile(id),
      this.store.mechanisms.read(artifact, 'file'),
    ]);
    if (!file || !artifactFile) throw new Error(`classifier ${id} or its artifact ${artifact} has gone`);
    return {
      classifier: Classifier.deserialise(file),
      artifact: openArtifact(artifactFile, { trustedKeys: 'any-signer', expectedId: artifact }),
    };
  }
}
