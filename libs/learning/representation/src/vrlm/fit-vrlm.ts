import { createHash } from 'node:crypto';
import { decoderHeads, inputDimension, type InputSchema } from '@undertone/artifact';
import {
  compileStep,
  type HistoryEntry,
  oneCycle,
  runTraining,
  SeededRandom,
  type TrainingProgress,
} from '@undertone/engine';
import { EpochBatches, gatherRows } from '../training/epoch-batches';
import { fillStandardLaplace, trainingEpsilonAt } from './noise-schedule';
import { type Elbo, TrainedVrlm } from './trained-vrlm';
import { RADIUS, VrlmModel } from './vrlm-model';
import { RepresentationError, type VrlmSettings, vrlmSettings } from './vrlm-settings';

export interface VrlmRequest {
  schema: InputSchema;
  /** D1, without labels: vectorised records [n, D], row-major. */
  data: Float32Array;
  settings?: Partial<VrlmSettings>;
  seed: number;
  /** Where to keep the state of training, so that it resumes after a crash as if never stopped. */
  checkpoint?: { path: string; everySteps: number };
  onProgress?: (progress: TrainingProgress) => void;
  signal?: AbortSignal;
}

/**
 * Trains a V-RLM on D1 by maximising the ELBO (RLM §3.1.1). A pure function of its arguments, up to the backend's
 * determinism: batches, noise and initial weights all come from `seed`.
 *
 * @throws RepresentationError `invalid-setting`, `invalid-data`; `cancelled` when the signal was raised (the checkpoint
 *   is kept).
 */
export async function fitVrlm(request: VrlmRequest): Promise<TrainedVrlm> {
  const { schema, data, seed, checkpoint, onProgress, signal } = request;
  const settings = vrlmSettings(request.settings ?? {});
  const inputs = inputDimension(schema);
  requireRecords(data, inputs);
  const rows = data.length / inputs;
  const batches = new EpochBatches(rows, settings.batch, seed);
  const totalSteps = settings.epochs * batches.stepsPerEpoch;
  const model = new VrlmModel(inputs, decoderHeads(schema), settings, seed);
  const feeds = feedsOf(model, data, batches, totalSteps, seed);
  const step = compileStep(model.stepDefinition(batches.batch));
  try {
    const result = await runTraining({
      step,
      totalSteps,
      feeds,
      learningRate: oneCycle({ peak: settings.peakLearningRate, totalSteps, warmUpFraction: 0.1 }),
      seed,
      fingerprint: { model: 'v-rlm', schema, settings, data: digestOf(data) },
      checkpoint,
      onProgress,
      signal,
    });
    if (result.outcome === 'cancelled') {
      throw new RepresentationError(
        'cancelled',
        `cancelled after ${result.steps} of ${totalSteps} training steps`,
      );
    }
    return new TrainedVrlm(
      model,
      step.parameters(),
      lastEpoch(result.history, totalSteps - batches.stepsPerEpoch),
    );
  } finally {
    step.dispose();
  }
}

function feedsOf(
  model: VrlmModel,
  data: Float32Array,
  batches: EpochBatches,
  totalSteps: number,
  seed: number,
): (step: number) => Record<string, Float32Array> {
  const { batch } = batches;
  const { settings, inputs } = model;
  const x = new Float32Array(batch * inputs);
  const noise = new Float32Array(batch * settings.latent);
  return (step) => {
    const epsilon = trainingEpsilonAt(settings, step, totalSteps, seed);
    gatherRows(data, inputs, batches.at(step), x);
    fillStandardLaplace(noise, new SeededRandom(seed, 'noise', step));
    return {
      x,
      noise,
      noiseScale: Float32Array.of((2 * RADIUS) / epsilon),
      ...(model.conditions ? { logEpsilon: new Float32Array(batch).fill(Math.log(epsilon)) } : {}),
    };
  };
}

/** The mean over the entries of the last epoch, at least one. */
function lastEpoch(history: readonly HistoryEntry[], after: number): Elbo {
  const entries = history.filter((entry, i) => entry.step > after || i + 1 === history.length);
  const mean = (of: (entry: HistoryEntry) => number): number =>
    entries.reduce((sum, entry) => sum + of(entry), 0) / entries.length;
  return {
    total: -mean((entry) => entry.loss),
    reconstruction: -mean((entry) => entry.metrics.reconstruction),
    divergence: mean((entry) => entry.metrics.divergence),
  };
}

const digestOf = (data: Float32Array): string =>
  createHash('sha256')
    .update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
    .digest('hex');

function requireRecords(data: Float32Array, inputs: number): void {
  if (data.length === 0 || data.length % inputs !== 0) {
    throw new RepresentationError(
      'invalid-data',
      `${data.length} numbers are not records of ${inputs}, at least one of them`,
    );
  }
  const bad = data.findIndex((v) => !Number.isFinite(v));
  if (bad >= 0) {
    throw new RepresentationError(
      'invalid-data',
      `record ${Math.floor(bad / inputs)} holds ${data[bad]} at position ${bad % inputs}: every number must be finite`,
    );
  }
}
