import { Problem } from '@undertone/service';
import { type ClassifierSummary, type Store } from '@undertone/store';
import { type ClassifierDocument, classifierDocument } from './classifier-document';
import { LoadedClassifiers } from './loaded-classifiers';
import { predictClean, type Prediction, predictPrivate, UnreadableInputError } from './predict';
import { type PredictionRequest } from './prediction-request';

/** The classifiers that this platform has fitted, and their answers. */
export class FittedClassifiers {
  private readonly loaded: LoadedClassifiers;

  constructor(private readonly store: Pick<Store, 'classifiers' | 'mechanisms'>) {
    this.loaded = new LoadedClassifiers(store);
  }

  async list(): Promise<ClassifierDocument[]> {
    return (await this.store.classifiers.list()).map(classifierDocument);
  }

  /** @param reference an id, or a name: then the newest of that name. @throws Problem `unknown-classifier` */
  async show(reference: string): Promise<ClassifierDocument> {
    return classifierDocument(await this.find(reference));
  }

  /** @throws Problem `unknown-classifier`; `invalid-record` naming the input and what is wrong with it */
  async predict(
    reference: string,
    { records, payloads = [] }: PredictionRequest,
  ): Promise<{ labels: string[]; predictions: Prediction[] }> {
    const loaded = await this.loaded.get(await this.find(reference));
    try {
      const predictions = records
        ? predictClean(loaded, records)
        : predictPrivate(
            loaded,
            payloads.map((payload) => Buffer.from(payload, 'base64')),
          );
      return { labels: [...loaded.classifier.labels], predictions };
    } catch (error) {
      if (!(error instanceof UnreadableInputError)) throw error;
      const { field, reason } = error;
      throw new Problem('invalid-record', error.message, { errors: [{ field, detail: reason }] });
    }
  }

  private async find(reference: string): Promise<ClassifierSummary> {
    const found = await this.store.classifiers.find(reference);
    if (found) return found;
    throw new Problem(
      'unknown-classifier',
      `there is no classifier with the id or name "${reference}"; GET /v1/classifiers lists those that there are`,
    );
  }
}
