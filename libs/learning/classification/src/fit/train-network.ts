import type * as tf from '@tensorflow/tfjs-core';
import {
  compileStep,
  type ConstantSpec,
  Dense,
  type FeedSpec,
  type HistoryEntry,
  type NamedTensors,
  oneCycle,
  runTraining,
  SeededRandom,
  Sequential,
  type TrainingIdentity,
  type TrainingProgress,
} from '@undertone/engine';
import { EpochBatches, type PlainNetwork, publishedNetwork } from '@undertone/representation';
import { ClassificationError } from '../classification-error';
import { type FitSettings } from './fit-settings';

/** How a fit is watched, stopped and resumed. */
export interface FitControl {
  seed: number;
  checkpoint?: { path: string; everySteps: number };
  onProgress?: (progress: TrainingProgress) => void;
  signal?: AbortSignal;
}

export interface NetworkTraining extends FitControl {
  settings: FitSettings;
  inputs: number;
  classes: number;
  /** Rows of data, of which each step takes a batch. */
  rows: number;
  identity: TrainingIdentity;
  constants?: Record<string, ConstantSpec>;
  feeds(batch: number): Record<string, FeedSpec>;
  fill(rows: Uint32Array): Record<string, Float32Array>;
  /** The loss, given p_ψ(y | ·) of rows of inputs as logits. */
  loss(logits: (rows: tf.Tensor2D) => tf.Tensor2D, inputs: NamedTensors): tf.Scalar;
}

export interface TrainedNetwork {
  network: PlainNetwork;
  /** The loss over the last hundredth of the steps. */
  loss: number;
  history: readonly HistoryEntry[];
}

/** Trains a small dense network for p_ψ(y | z) on any objective. @throws ClassificationError `cancelled`. */
export async function trainNetwork(training: NetworkTraining): Promise<TrainedNetwork> {
  const { settings, inputs, classes, rows, seed } = training;
  const stack = classifierStack([inputs, ...settings.hidden, classes], seed);
  const batches = new EpochBatches(rows, settings.batch, seed);
  const totalSteps = settings.epochs * batches.stepsPerEpoch;
  const step = compileStep({
    feeds: training.feeds(batches.batch),
    constants: training.constants,
    parameters: stack.parameters,
    optimiser: { kind: 'adam' },
    loss: (tensors, parameters) => ({
      loss: training.loss((x) => stack.forward(x, parameters), tensors),
    }),
  });
  try {
    const { outcome, steps, history } = await runTraining({
      step,
      totalSteps,
      feeds: (index) => training.fill(batches.at(index)),
      learningRate: oneCycle({
        peak: settings.peakLearningRate,
        totalSteps,
        warmUpFraction: settings.warmUpFraction,
      }),
      seed,
      fingerprint: { ...training.identity, settings, rows },
      checkpoint: training.checkpoint,
      onProgress: training.onProgress,
      signal: training.signal,
    });
    if (outcome === 'cancelled') {
      throw new ClassificationError('cancelled', `cancelled after ${steps} of ${totalSteps} training steps`);
    }
    const network = publishedNetwork(stack, step.parameters());
    return { network, loss: history[history.length - 1].loss, history };
  } finally {
    step.dispose();
  }
}

function classifierStack(widths: readonly number[], seed: number): Sequential {
  const layers = widths.slice(1).map(
    (outputs, i) =>
      new Dense({
        name: `classifier/${i}`,
        inputs: widths[i],
        outputs,
        activation: i + 2 === widths.length ? 'linear' : 'relu',
        random: new SeededRandom(seed, 'classifier', i),
      }),
  );
  return new Sequential('classifier', layers);
}
