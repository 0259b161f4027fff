import * as tf from '@tensorflow/tfjs-core';
import { softmaxLoss } from '@undertone/engine';
import { gatherRows, type Plain, type Prior } from '@undertone/representation';
import { type Randomiser } from '@undertone/ldp';
import { createHash } from 'node:crypto';
import { ClassificationError } from '../classification-error';
import { Classifier } from '../classifier/classifier';
import { requireLabel } from '../evaluation/accuracy';
import { type FitSettings, fitSettings } from '../fit/fit-settings';
import { foldStandardisation, standardisationOf, standardise } from '../fit/standardisation';
import { type FitControl, trainNetwork } from '../fit/train-network';

export interface RoofRequest extends FitControl {
  randomiser: Randomiser;
  prior: Prior;
  labels: readonly string[];
  /** Clean representations of D2 [n, d]: an experiment has them, a collection never does. */
  codes: Float32Array | Float64Array;
  /** [n]: their true classes. */
  truth: ArrayLike<number>;
  settings?: Partial<FitSettings>;
  lineage?: { readonly [key: string]: Plain };
}

/**
 * The roof for a report: the same classifier fitted on clean representations with clean labels, i.e. without any
 * privacy. For experiments where D2 is known; what separates a private fit from it is the price of the noise.
 */
export async function fitRoof(request: RoofRequest): Promise<Classifier> {
  const { randomiser, prior, labels, codes, truth, lineage = {} } = request;
  const { dimension: d } = prior;
  const classes = labels.length;
  const rows = truth.length;
  if (rows === 0 || codes.length !== rows * d) {
    throw new ClassificationError(
      'invalid-input',
      `${codes.length} numbers of representations for ${rows} labels: ${d} a label are needed, at least one`,
    );
  }
  const oneHot = new Float32Array(rows * classes);
  for (let i = 0; i < rows; i++) {
    requireLabel(truth[i], classes, i);
    oneHot[i * classes + truth[i]] = 1;
  }
  const standardisation = standardisationOf(codes, d);
  const inputs = standardise(codes, standardisation);
  const { network } = await trainNetwork({
    ...request,
    settings: fitSettings(request.settings),
    inputs: d,
    classes,
    rows,
    identity: { objective: 'roof', data: digestOf(inputs, oneHot) },
    feeds: (batch) => ({ code: { shape: [batch, d] }, label: { shape: [batch, classes] } }),
    fill: (batch) => ({
      code: gatherRows(inputs, d, batch, new Float32Array(batch.length * d)),
      label: gatherRows(oneHot, classes, batch, new Float32Array(batch.length * classes)),
    }),
    loss: (logits, { code, label }) =>
      tf.div<tf.Scalar>(softmaxLoss(logits(code as tf.Tensor2D), label as tf.Tensor2D), code.shape[0]),
  });
  const { layers, weights } = foldStandardisation(network, standardisation);
  return new Classifier({ labels, randomiser, prior, layers, weights, lineage });
}

function digestOf(...arrays: Float32Array[]): string {
  const hash = createHash('sha256');
  for (const { buffer, byteOffset, byteLength } of arrays) {
    hash.update(new Uint8Array(buffer, byteOffset, byteLength));
  }
  return hash.digest('hex');
}
