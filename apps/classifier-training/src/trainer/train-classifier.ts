import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type Artifact, openArtifact } from '@undertone/artifact';
import { type Classifier, fitMarginalised, fitSettings } from '@undertone/classification';
import { initialiseBackend } from '@undertone/engine';
import { type TrainerContext, writeWhole } from '@undertone/jobs';
import { deserialisePrior, type Plain, type Prior } from '@undertone/representation';
import { checkpointOf, withUsableCheckpoint } from './checkpoints';
import { type ClassifierTraining, type TrainedClassifier } from './classifier-training';
import { evaluateClassifier } from './evaluate-classifier';

/**
 * Fits a classifier on the reports in the work folder and measures it where it is asked to. The classifier depends on
 * the request and those files alone (to the engine's determinism), however often the job was interrupted.
 */
export async function trainClassifier(
  request: ClassifierTraining,
  context: TrainerContext,
): Promise<TrainedClassifier> {
  const engine = await initialiseBackend({ prefer: request.engine });
  const read = (name: string): Uint8Array => readFileSync(path.join(context.folder, name));
  const { files } = request;
  const artifact = openArtifact(read(files.artifact), {
    trustedKeys: 'any-signer',
    expectedId: request.artifact,
  });
  const priorFile = read(files.prior);
  const prior = deserialisePrior(priorFile);
  const payloadFile = read(files.payloads);
  const payloads = payloadsOf(payloadFile, artifact.randomiser.payloadBytes);
  const settings = fitSettings(request.settings);
  const lineage: Record<string, Plain> = {
    name: request.name,
    task: request.task,
    artifact: request.artifact,
    prior: sha256(priorFile),
    reports: payloads.length,
    reportsDigest: sha256(payloadFile),
    objective: 'marginalised',
    settings: { ...settings, hidden: [...settings.hidden] },
    seed: request.seed,
    engine: { name: engine.name, library: engine.library },
  };

  const { classifier, loss } = await fit(
    { artifact, prior, payloads, settings, seed: request.seed, lineage },
    context,
  );
  const evaluation =
    request.evaluation &&
    (await evaluateClassifier(
      {
        ...request.evaluation,
        classifier,
        artifact,
        settings,
        seed: request.seed,
        dataRoots: request.dataRoots,
      },
      context,
    ));
  const file = 'classifier.bin';
  writeWhole(path.join(context.folder, file), classifier.serialise());
  return { metrics: { reports: payloads.length, loss, evaluation }, settings, file };
}

interface Fit {
  artifact: Artifact;
  prior: Prior;
  payloads: readonly Uint8Array[];
  settings: ReturnType<typeof fitSettings>;
  seed: number;
  lineage: Record<string, Plain>;
}

function fit(
  { artifact, ...rest }: Fit,
  context: TrainerContext,
): Promise<{ classifier: Classifier; loss: number }> {
  const { payloads, settings } = rest;
  const checkpoint = checkpointOf(context, 'fit', payloads.length, settings);
  return withUsableCheckpoint(checkpoint.path, () =>
    fitMarginalised({
      ...rest,
      randomiser: artifact.randomiser,
      labels: artifact.body.labels,
      checkpoint,
      onTable: (done, total) => context.progress({ stage: 'weigh the reports', done, total }),
      onProgress: ({ step, totalSteps, loss }) =>
        context.progress({ stage: 'fit the classifier', done: step, total: totalSteps, figures: { loss } }),
      signal: context.signal,
    }),
  );
}

function payloadsOf(file: Uint8Array, payloadBytes: number): Uint8Array[] {
  return Array.from({ length: file.length / payloadBytes }, (_, i) =>
    file.subarray(i * payloadBytes, (i + 1) * payloadBytes),
  );
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
