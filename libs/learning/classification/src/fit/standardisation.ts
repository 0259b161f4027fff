import { type PlainNetwork } from '@undertone/representation';

/** Keeps a coordinate that hardly varies from being blown up. */
const SMALLEST_DEVIATION = 1e-3;

/** The map z ↦ (z − centre) / scale, coordinate by coordinate, that a network is trained behind. */
export interface Standardisation {
  readonly centre: Float64Array;
  readonly scale: Float64Array;
}

/** Mean and deviation of the coordinates of points [n, d], weighted by `weights` [n] (equally by default). */
export function standardisationOf(
  points: Float32Array | Float64Array,
  d: number,
  weights?: Float64Array,
): Standardisation {
  const n = points.length / d;
  const share = (i: number): number => (weights ? weights[i] : 1 / n);
  const centre = new Float64Array(d);
  const scale = new Float64Array(d);
  for (let i = 0; i < n; i++) for (let c = 0; c < d; c++) centre[c] += share(i) * points[i * d + c];
  for (let i = 0; i < n; i++)
    for (let c = 0; c < d; c++) scale[c] += share(i) * (points[i * d + c] - centre[c]) ** 2;
  return { centre, scale: scale.map((v) => Math.max(Math.sqrt(v), SMALLEST_DEVIATION)) };
}

export function standardise(
  points: Float32Array | Float64Array,
  { centre, scale }: Standardisation,
): Float32Array {
  const d = centre.length;
  return Float32Array.from(points, (v, i) => (v - centre[i % d]) / scale[i % d]);
}

/** The network that takes z itself: the map is folded into the first layer. */
export function foldStandardisation(network: PlainNetwork, { centre, scale }: Standardisation): PlainNetwork {
  const [kernel, bias, ...rest] = network.weights;
  const { outputs } = network.layers[0];
  const folded = kernel.map((w, i) => w / scale[Math.floor(i / outputs)]);
  const shifted = Float64Array.from(bias);
  kernel.forEach((w, i) => {
    const c = Math.floor(i / outputs);
    shifted[i % outputs] -= (w / scale[c]) * centre[c];
  });
  return { layers: network.layers, weights: [folded, Float32Array.from(shifted), ...rest] };
}
