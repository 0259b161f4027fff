import * as tf from '@tensorflow/tfjs-core';
import { type DecoderHead } from '@undertone/artifact';
import {
  Dense,
  type FeedSpec,
  type NamedTensors,
  type ParameterSpec,
  SeededRandom,
  Sequential,
  type StepDefinition,
  type Tap,
} from '@undertone/engine';
import { headParameters, reconstructionLoss } from './decoder-heads';
import { laplaceDivergence, ontoL1Ball } from './mechanism-posterior';
import { type VrlmSettings } from './vrlm-settings';

export const RADIUS = 1;
const PRIOR_SCALE = 'prior/scale';
const INITIAL_RAW_PRIOR_SCALE = -1;
const SMALLEST_PRIOR_SCALE = 1e-3;

/** s of the prior Laplace(0, s) from its unconstrained parameter. */
export const priorScaleOf = (raw: number): number => Math.log1p(Math.exp(raw)) + SMALLEST_PRIOR_SCALE;

/**
 * The V-RLM: a latent-variable model whose posterior is the mechanism itself. Encoder h, ν onto the L1 ball of radius 1,
 * z̃ = ν(h(x)) + Laplace(0, 2/ε), decoder; trained on the ELBO with a Laplace(0, s) prior of learned s.
 * A conditioned model takes ln ε as one more input of encoder and decoder.
 */
export class VrlmModel {
  readonly encoder: Sequential;
  readonly decoder: Sequential;
  readonly parameters: readonly ParameterSpec[];
  /** Extra inputs of encoder and decoder: 1 for ln ε, else 0. */
  readonly conditions: 0 | 1;

  constructor(
    readonly inputs: number,
    readonly heads: readonly DecoderHead[],
    readonly settings: VrlmSettings,
    seed: number,
  ) {
    const { hidden, latent, mode } = settings;
    this.conditions = mode === 'conditioned' ? 1 : 0;
    this.encoder = denseStack('encoder', [inputs + this.conditions, ...hidden, latent], seed);
    this.decoder = denseStack('decoder', [latent + this.conditions, ...[...hidden].reverse(), inputs], seed);
    this.parameters = [
      ...this.encoder.parameters,
      ...this.decoder.parameters,
      ...headParameters(heads),
      { name: PRIOR_SCALE, shape: [1], initial: Float32Array.of(INITIAL_RAW_PRIOR_SCALE) },
    ];
  }

  /** Feeds of a step of `batch` records; `noise` holds standard Laplace variates, `noiseScale` is b = 2/ε. */
  feeds(batch: number): Record<'x' | 'noise' | 'noiseScale', FeedSpec> & { logEpsilon?: FeedSpec } {
    return {
      x: { shape: [batch, this.inputs] },
      noise: { shape: [batch, this.settings.latent] },
      noiseScale: { shape: [1] },
      ...(this.conditions ? { logEpsilon: { shape: [batch, 1] } } : {}),
    };
  }

  stepDefinition(batch: number): StepDefinition {
    return {
      feeds: this.feeds(batch),
      parameters: this.parameters,
      optimiser: { kind: 'adam' },
      loss: (inputs, parameters) => this.negativeElbo(inputs, parameters),
    };
  }

  /** The negative ELBO in nats a record, with its two parts as metrics. */
  negativeElbo(
    inputs: NamedTensors,
    parameters: NamedTensors,
    tap?: Tap,
  ): { loss: tf.Scalar; metrics: Record<'reconstruction' | 'divergence', tf.Scalar> } {
    const { x, noise, noiseScale, logEpsilon } = inputs as Record<string, tf.Tensor2D>;
    const conditioned = (rows: tf.Tensor2D): tf.Tensor2D =>
      logEpsilon ? tf.concat([rows, logEpsilon], 1) : rows;
    const mean = ontoL1Ball(this.encoder.forward(conditioned(x), parameters, tap), RADIUS);
    const noisy = tf.add<tf.Tensor2D>(mean, tf.mul(noiseScale, noise));
    const outputs = this.decoder.forward(conditioned(noisy), parameters, tap);
    const priorScale = tf.add(tf.softplus(parameters[PRIOR_SCALE]), SMALLEST_PRIOR_SCALE);
    const rows = x.shape[0];
    const reconstruction = tf.div<tf.Scalar>(reconstructionLoss(this.heads, outputs, x, parameters), rows);
    const divergence = tf.div<tf.Scalar>(laplaceDivergence(mean, noiseScale, priorScale), rows);
    return { loss: tf.add(reconstruction, divergence), metrics: { reconstruction, divergence } };
  }

  priorScale(parameters: Readonly<Record<string, Float32Array>>): number {
    return priorScaleOf(parameters[PRIOR_SCALE][0]);
  }
}

function denseStack(name: string, widths: readonly number[], seed: number): Sequential {
  const layers = widths.slice(1).map((outputs, i) => {
    const last = i + 2 === widths.length;
    return new Dense({
      name: `${name}/${i}`,
      inputs: widths[i],
      outputs,
      activation: last ? 'linear' : 'relu',
      random: new SeededRandom(seed, name, i),
    });
  });
  return new Sequential(name, layers);
}
