import { rmSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import { type Dataset, loadDataset } from '@undertone/datasets';
import { CheckpointError, initialiseBackend } from '@undertone/engine';
import { JobError, type TrainerContext, writeWhole } from '@undertone/jobs';
import {
  encodeModelFile,
  encodeRecords,
  fitVrlm,
  type PublishedEncoder,
  serialisePrior,
  type TrainedVrlm,
  vrlmSettings,
  weightedPrototypes,
} from '@undertone/representation';
import { ENCODER_FILE, type MechanismTraining, type TrainedMechanism } from './mechanism-training';

const CHECKPOINTS = 20;
const LONGEST_STRETCH = 500;
const ROWS_A_TURN = 256;

/**
 * Trains a V-RLM on D1, without its labels, and compresses D1's codes to the prior that classifiers are fitted over.
 * Weights and prior depend on the request alone (to the engine's determinism), however often it was interrupted.
 */
export async function trainMechanism(
  request: MechanismTraining,
  context: TrainerContext,
): Promise<TrainedMechanism> {
  const { seed, prototypes, representationEpsilon: epsilon } = request;
  const engine = await initialiseBackend({ prefer: request.engine });
  context.progress({ stage: 'read D1', done: 0, total: 1 });
  const d1 = loadDataset(request.dataset, { roots: request.dataRoots });
  const labels = labelSet(request, d1);
  const data = d1.matrix();

  const trained = await fit(request, d1, data, context);
  const encoder = trained.encoder({ epsilon });
  const codes = await encodeInTurns(encoder, data, d1.dimension, context);
  context.progress({ stage: 'compress the prior', done: 0, total: 1 });
  await turnOfEventLoop();
  const prior = weightedPrototypes(codes, {
    dimension: codes.length / d1.rows,
    count: prototypes,
    seed,
    radius: encoder.projection.radius,
  });
  context.signal.throwIfAborted();

  const files = { encoder: 'encoder.bin', prior: 'prior.bin', decoder: 'decoder.bin' };
  const write = (name: string, bytes: Uint8Array): void => writeWhole(path.join(context.folder, name), bytes);
  write(files.encoder, encodeModelFile(ENCODER_FILE, { header: {}, arrays: namedWeights(encoder.weights) }));
  write(files.prior, serialisePrior(prior));
  write(files.decoder, trained.decoder({ epsilon }).serialise());
  return {
    schema: d1.schema,
    labels,
    d1: { name: d1.name, rows: d1.rows },
    encoder: { layers: encoder.layers, radius: encoder.projection.radius },
    settings: vrlmSettings(request.settings),
    elbo: trained.elbo,
    priorScale: trained.priorScale,
    engine: { name: engine.name, library: engine.library },
    files,
  };
}

function labelSet(request: MechanismTraining, d1: Dataset): readonly string[] {
  const labels = request.labels ?? d1.labels;
  if (labels.length >= 2) return labels;
  throw new JobError(
    'no-labels',
    `${d1.name} names ${labels.length} classes and a report needs at least 2: name the label set in "labels"`,
  );
}

async function fit(
  { settings, seed }: MechanismTraining,
  d1: Dataset,
  data: Float32Array,
  { folder, signal, progress }: TrainerContext,
): Promise<TrainedVrlm> {
  const checkpoint = path.join(folder, 'fit.checkpoint');
  const { epochs, batch } = vrlmSettings(settings);
  const totalSteps = epochs * Math.ceil(d1.rows / batch);
  const everySteps = Math.min(Math.ceil(totalSteps / CHECKPOINTS), LONGEST_STRETCH);
  const run = (): Promise<TrainedVrlm> =>
    fitVrlm({
      schema: d1.schema,
      data,
      settings,
      seed,
      checkpoint: { path: checkpoint, everySteps },
      onProgress: ({ step, totalSteps: total, loss, metrics }) =>
        progress({ stage: 'fit the encoder', done: step, total, figures: { loss, ...metrics } }),
      signal,
    });
  try {
    return await run();
  } catch (error) {
    const unusable =
      error instanceof CheckpointError && (error.code === 'damaged' || error.code === 'other-training');
    if (!unusable) throw error;
    // A power cut, or an older version of this program: what the job is asked hasn't changed, so it starts over.
    rmSync(checkpoint, { force: true });
    return run();
  }
}

/** Codes [n, d] of D1, by the encoder that devices will run. */
async function encodeInTurns(
  encoder: PublishedEncoder,
  data: Float32Array,
  inputs: number,
  { signal, progress }: TrainerContext,
): Promise<Float32Array> {
  const rows = data.length / inputs;
  const latent = encoder.layers[encoder.layers.length - 1].outputs;
  const codes = new Float32Array(rows * latent);
  for (let row = 0; row < rows; row += ROWS_A_TURN) {
    signal.throwIfAborted();
    progress({ stage: 'encode D1', done: row, total: rows });
    codes.set(
      encodeRecords(encoder, data.subarray(row * inputs, (row + ROWS_A_TURN) * inputs)),
      row * latent,
    );
    await turnOfEventLoop();
  }
  return codes;
}

const namedWeights = (weights: readonly Float32Array[]): Record<string, Float32Array> =>
  Object.fromEntries(weights.map((array, i) => [`weight${i}`, array]));
