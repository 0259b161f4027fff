import { type Factors, type Randomiser, type RepresentationRandomiser } from '@undertone/ldp';
import { type Prior } from '@undertone/representation';
import { ClassificationError } from '../classification-error';

/** The likelihood of each report where it is a product: p(z̃ | z) · P(ỹ | y). */
export interface FactorisedTable {
  readonly kind: 'factorised';
  readonly rows: number;
  readonly prototypes: number;
  readonly classes: number;
  /** [N, M], each row summing to 1: w_nm ∝ π_m p(z̃_n | z′_m), over all prototypes. */
  readonly representation: Float32Array;
  /** [N, K]: P(ỹ_n | y). */
  readonly label: Float32Array;
}

/** The likelihood of each report about the pair (z, y), where it is no product. */
export interface JointTable {
  readonly kind: 'joint';
  readonly rows: number;
  readonly prototypes: number;
  readonly classes: number;
  /** [U, M · K], one row a distinct payload, each row summing to 1: ∝ π_m p(payload | z′_m, y). */
  readonly pair: Float32Array;
  /** [N]: the row of `pair` for each report. */
  readonly rowOf: Int32Array;
}

/** p(reportₙ | z′_m, y) π_m for all reports and prototypes, computed once and scaled a row at a time. */
export type LikelihoodTable = FactorisedTable | JointTable;

export interface TableRequest {
  randomiser: Randomiser;
  payloads: readonly Uint8Array[];
  prior: Prior;
  onProgress?: (done: number, total: number) => void;
  signal?: AbortSignal;
}

export const MAXIMUM_TABLE_BYTES = 2 * 1024 ** 3;
const ROWS_A_TURN = 2048;

/**
 * The part of RLM eq. 11 that doesn't depend on the classifier, in general form: which prototype (and label) each
 * report may have come from. Weights are over all prototypes: a cut at the largest hundred would drop nearly all of
 * the mass at small ε. Rows are scaled in log space, which changes the objective by a constant only.
 *
 * Time O(N · M · d); memory 4NM bytes (factorised) or 4UMK (joint, U distinct payloads). Gives other work a turn now
 * and then.
 *
 * @throws ClassificationError `impossible-report` names the first report that the mechanism can't have sent;
 *   `too-large`, `invalid-input`, `cancelled`.
 */
export async function likelihoodTable(request: TableRequest): Promise<LikelihoodTable> {
  const { randomiser, payloads, prior } = request;
  requirePrior(prior, randomiser.dimension);
  if (payloads.length === 0)
    throw new ClassificationError('invalid-input', 'no reports: a fit needs at least one');
  payloads.forEach((payload, n) => {
    const fault = randomiser.fault(payload);
    if (fault !== undefined) throw new ClassificationError('impossible-report', `report ${n}: ${fault}`);
  });
  return randomiser.factors === undefined
    ? jointTable(request)
    : factorisedTable(request, randomiser.factors);
}

export function requirePrior(prior: Prior, dimension: number): void {
  if (prior.dimension !== dimension) {
    throw new ClassificationError(
      'invalid-input',
      `prior of dimension ${prior.dimension} for a mechanism of dimension ${dimension}: they must be of one artifact`,
    );
  }
}

async function factorisedTable(request: TableRequest, factors: Factors): Promise<FactorisedTable> {
  const { payloads, prior } = request;
  const { classes } = factors.label;
  const [rows, prototypes] = [payloads.length, prior.weights.length];
  requireFits(rows, prototypes);
  const representation = new Float32Array(rows * prototypes);
  const label = new Float32Array(rows * classes);
  const posterior = new PrototypePosterior(factors.representation, prior);
  await inTurns(request, rows, (n) => {
    const parts = factors.split(payloads[n]);
    posterior.weights(parts.representation, representation.subarray(n * prototypes, (n + 1) * prototypes));
    for (let y = 0; y < classes; y++) {
      label[n * classes + y] = Math.exp(factors.label.logLikelihood(parts.label, y));
    }
  });
  return { kind: 'factorised', rows, prototypes, classes, representation, label };
}

async function jointTable(request: TableRequest): Promise<JointTable> {
  const { randomiser, payloads, prior } = request;
  const [rows, prototypes, classes] = [payloads.length, prior.weights.length, randomiser.classes];
  const first = new Map<string, number>();
  const distinct: Uint8Array[] = [];
  const rowOf = Int32Array.from(payloads, (payload) => {
    const key = Buffer.from(payload).toString('latin1');
    const known = first.get(key);
    if (known !== undefined) return known;
    first.set(key, distinct.length);
    return distinct.push(payload) - 1;
  });
  const width = prototypes * classes;
  requireFits(distinct.length, width);
  const pair = new Float32Array(distinct.length * width);
  const logPrior = Float64Array.from({ length: width }, (_, i) =>
    Math.log(prior.weights[Math.floor(i / classes)]),
  );
  const scratch = new Float64Array(width);
  await inTurns(request, distinct.length, (u) => {
    randomiser.logLikelihoods(distinct[u], prior.points, scratch);
    normaliseLogs(scratch, logPrior, pair.subarray(u * width, (u + 1) * width));
  });
  return { kind: 'joint', rows, prototypes, classes, pair, rowOf };
}

/** w_m(z̃) = π_m p(z̃ | z′_m) / Σ_j π_j p(z̃ | z′_j): which prototype a report of a representation came from. */
export class PrototypePosterior {
  private readonly logPrior: Float64Array;
  private readonly scratch: Float64Array;

  constructor(
    private readonly randomiser: RepresentationRandomiser,
    private readonly prior: Prior,
  ) {
    this.logPrior = prior.weights.map(Math.log);
    this.scratch = new Float64Array(prior.weights.length);
  }

  /** Writes the weights [M] of one report into `out`. */
  weights<Out extends Float32Array | Float64Array>(payload: Uint8Array, out: Out): Out {
    this.randomiser.logLikelihoods(payload, this.prior.points, this.scratch);
    return normaliseLogs(this.scratch, this.logPrior, out);
  }
}

/** out = softmax(logs + logPrior), with the largest term subtracted first; overwrites `logs`. */
function normaliseLogs<Out extends Float32Array | Float64Array>(
  logs: Float64Array,
  logPrior: Float64Array,
  out: Out,
): Out {
  let largest = -Infinity;
  for (let i = 0; i < logs.length; i++) {
    logs[i] += logPrior[i];
    if (logs[i] > largest) largest = logs[i];
  }
  if (!(largest > -Infinity && largest < Infinity)) {
    throw new ClassificationError(
      'impossible-report',
      'a report has likelihood 0 under every prototype of the prior',
    );
  }
  let sum = 0;
  for (let i = 0; i < logs.length; i++) {
    logs[i] = Math.exp(logs[i] - largest);
    sum += logs[i];
  }
  for (let i = 0; i < logs.length; i++) out[i] = logs[i] / sum;
  return out;
}

function requireFits(rows: number, width: number): void {
  const bytes = 4 * rows * width;
  if (bytes > MAXIMUM_TABLE_BYTES) {
    throw new ClassificationError(
      'too-large',
      `likelihood table of ${rows} × ${width} numbers takes ${bytes} bytes, more than ${MAXIMUM_TABLE_BYTES}: ` +
        'use fewer prototypes, or fit on a part of the reports',
    );
  }
}

async function inTurns(
  { onProgress, signal }: TableRequest,
  total: number,
  work: (row: number) => void,
): Promise<void> {
  for (let start = 0; start < total; start += ROWS_A_TURN) {
    const end = Math.min(total, start + ROWS_A_TURN);
    for (let n = start; n < end; n++) work(n);
    onProgress?.(end, total);
    await new Promise((resolve) => setImmediate(resolve));
    if (signal?.aborted)
      throw new ClassificationError('cancelled', 'cancelled while the likelihood table was made');
  }
}
