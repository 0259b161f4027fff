import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type ArtifactBody, mechanismClaim, sealArtifact, type SigningKey } from '@undertone/artifact';
import { trainerEnvironment } from '@undertone/engine';
import { type JobCompletion, type JobContext, type JobHandler } from '@undertone/jobs';
import { createRandomiser, type RandomiserSpec, splitBudget } from '@undertone/ldp';
import { decodeModelFile, suggestedTrainingEpsilon } from '@undertone/representation';
import { type Store } from '@undertone/store';
import { type MechanismRequest } from '../mechanisms/mechanism-request';
import { ENCODER_FILE, type MechanismTraining, type TrainedMechanism } from '../trainer/mechanism-training';

export const FIT_MECHANISM = 'fit-mechanism';

/** What a succeeded job's `result` says. */
export interface FittedMechanism {
  /** Id of the artifact. */
  mechanism: string;
}

export interface FitMechanismOptions {
  store: Pick<Store, 'mechanisms'>;
  key: SigningKey;
  engine: MechanismTraining['engine'];
  dataRoots: readonly string[];
  /** The built trainer. */
  script: string;
}

/** Fits a V-RLM in a trainer process; then signs and publishes the mechanism here, where the key is. */
export class FitMechanism implements JobHandler<MechanismTraining, TrainedMechanism> {
  readonly kind = FIT_MECHANISM;
  readonly script: string;
  readonly environment = trainerEnvironment();

  constructor(private readonly options: FitMechanismOptions) {
    this.script = options.script;
  }

  async prepare({ job }: JobContext): Promise<MechanismTraining> {
    const { epsilon, lambda, dataset, labels, settings, prototypes, seed } = job.request as MechanismRequest;
    const { engine, dataRoots } = this.options;
    const { representation } = splitBudget(epsilon, lambda);
    return {
      dataset,
      dataRoots,
      labels,
      settings: { trainingEpsilon: suggestedTrainingEpsilon(epsilon), ...settings },
      representationEpsilon: representation,
      prototypes,
      seed,
      engine,
    };
  }

  async complete(trained: TrainedMechanism, { job, folder }: JobContext): Promise<JobCompletion> {
    const read = (name: string): Promise<Uint8Array> => readFile(path.join(folder, name));
    const { files } = trained;
    const [encoder, prior, decoder] = await Promise.all([
      read(files.encoder),
      read(files.prior),
      read(files.decoder),
    ]);
    const { arrays } = decodeModelFile(ENCODER_FILE, encoder);
    const weights = Object.keys(arrays).map((_, i) => arrays[`weight${i}`] as Float32Array);
    const body = artifactBody(job.request as MechanismRequest, trained);
    const { store, key } = this.options;
    const { id, file } = sealArtifact(body, weights, key);
    const result: FittedMechanism = { mechanism: id };
    return {
      result,
      store: async (transaction) => {
        await store.mechanisms.publish(
          {
            id,
            name: body.name,
            signer: key.publicKey,
            file,
            prior,
            decoder,
            claim: body.claim,
            lineage: body.lineage,
            metrics: { elbo: trained.elbo, priorScale: trained.priorScale, rows: trained.d1.rows },
            jobId: job.id,
          },
          transaction,
        );
      },
    };
  }
}

/** The artifact's body: nothing in it depends on when, where or how often the job ran. */
export function artifactBody(request: MechanismRequest, trained: TrainedMechanism): ArtifactBody {
  const { name, epsilon, lambda, seed, prototypes } = request;
  const { labels } = trained;
  const { layers, radius } = trained.encoder;
  const budget = splitBudget(epsilon, lambda);
  const dimension = layers[layers.length - 1].outputs;
  const randomiser: RandomiserSpec = {
    kind: 'factorised',
    representation: { kind: 'laplace-l1', dimension, radius, epsilon: budget.representation },
    label: { kind: 'k-rr', classes: labels.length, epsilon: budget.label },
  };
  return {
    name,
    schema: trained.schema,
    labels,
    encoder: { layers, projection: { kind: 'l1-ball', radius } },
    randomiser,
    claim: mechanismClaim(createRandomiser(randomiser), { kind: request.d1 }),
    lineage: {
      method: 'V-RLM',
      d1: trained.d1,
      epsilon,
      lambda,
      seed,
      settings: trained.settings,
      prototypes,
      elbo: trained.elbo,
      engine: trained.engine,
    },
  };
}
