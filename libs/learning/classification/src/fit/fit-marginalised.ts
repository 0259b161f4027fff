import * as tf from '@tensorflow/tfjs-core';
import { gatherRows, type Plain, type Prior } from '@undertone/representation';
import { type Randomiser } from '@undertone/ldp';
import { createHash } from 'node:crypto';
import { Classifier } from '../classifier/classifier';
import { type LikelihoodTable, likelihoodTable } from '../likelihood/likelihood-table';
import { type FitSettings, fitSettings } from './fit-settings';
import { factorisedLoss, jointLoss } from './marginal-likelihood';
import { foldStandardisation, standardisationOf, standardise } from './standardisation';
import { type FitControl, type NetworkTraining, trainNetwork } from './train-network';

export interface MarginalisedRequest extends FitControl {
  /** Of the artifact that the reports were made with. */
  randomiser: Randomiser;
  /** One report a record. */
  payloads: readonly Uint8Array[];
  prior: Prior;
  /** K names; class k is labels[k]. */
  labels: readonly string[];
  settings?: Partial<FitSettings>;
  /** Kept with the classifier as given: task, artifact, data … */
  lineage?: { readonly [key: string]: Plain };
  /** Told how far the likelihood table is, which comes before training. */
  onTable?: (done: number, total: number) => void;
}

export interface MarginalisedFit {
  classifier: Classifier;
  /** The mean negative marginal log-likelihood at the end, up to a constant that depends on the reports alone. */
  loss: number;
}

/**
 * Fits p_ψ(y | z) on reports alone by maximising their likelihood, the noise of representation and label summed out
 * over the prior's prototypes (RLM eq. 11 in general form):
 * L(ψ) = Σₙ ln Σ_m π_m Σ_y p(reportₙ | z′_m, y) p_ψ(y | z′_m).
 *
 * No report's record is seen, and fitting is post-processing: it costs no privacy beyond what each report spent.
 *
 * @throws ClassificationError as `likelihoodTable` and, when the signal is raised, `cancelled`.
 */
export async function fitMarginalised(request: MarginalisedRequest): Promise<MarginalisedFit> {
  const { randomiser, payloads, prior, labels, lineage = {} } = request;
  const settings = fitSettings(request.settings);
  const table = await likelihoodTable({
    randomiser,
    payloads,
    prior,
    onProgress: request.onTable,
    signal: request.signal,
  });
  const standardisation = standardisationOf(prior.points, prior.dimension, prior.weights);
  const { network, loss } = await trainNetwork({
    ...request,
    ...objectiveOf(table),
    settings,
    inputs: prior.dimension,
    classes: table.classes,
    rows: table.rows,
    identity: { objective: 'marginalised', randomiser: randomiser.spec, data: digestOf(payloads, prior) },
    constants: {
      prototypes: {
        shape: [table.prototypes, prior.dimension],
        values: standardise(prior.points, standardisation),
      },
    },
  });
  const { layers, weights } = foldStandardisation(network, standardisation);
  return { classifier: new Classifier({ labels, randomiser, prior, layers, weights, lineage }), loss };
}

type Objective = Pick<NetworkTraining, 'feeds' | 'fill' | 'loss'>;

function objectiveOf(table: LikelihoodTable): Objective {
  const { prototypes: M, classes: K } = table;
  if (table.kind === 'factorised') {
    return {
      feeds: (batch) => ({ weights: { shape: [batch, M] }, label: { shape: [batch, K] } }),
      fill: (rows) => ({
        weights: gatherRows(table.representation, M, rows, new Float32Array(rows.length * M)),
        label: gatherRows(table.label, K, rows, new Float32Array(rows.length * K)),
      }),
      loss: (logits, { prototypes, weights, label }) =>
        factorisedLoss(
          tf.softmax(logits(prototypes as tf.Tensor2D)),
          weights as tf.Tensor2D,
          label as tf.Tensor2D,
        ),
    };
  }
  return {
    feeds: (batch) => ({ pair: { shape: [batch, M * K] } }),
    fill: (rows) => {
      const distinct = Uint32Array.from(rows, (n) => table.rowOf[n]);
      return { pair: gatherRows(table.pair, M * K, distinct, new Float32Array(rows.length * M * K)) };
    },
    loss: (logits, { prototypes, pair }) =>
      jointLoss(tf.softmax(logits(prototypes as tf.Tensor2D)), pair as tf.Tensor2D),
  };
}

function digestOf(payloads: readonly Uint8Array[], prior: Prior): string {
  const hash = createHash('sha256');
  for (const payload of payloads) hash.update(payload);
  for (const { buffer, byteOffset, byteLength } of [prior.points, prior.weights]) {
    hash.update(new Uint8Array(buffer, byteOffset, byteLength));
  }
  return hash.digest('hex');
}
