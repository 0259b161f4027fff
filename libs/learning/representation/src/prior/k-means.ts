/** A source of uniform numbers in [0, 1); the engine's seeded generator is one. */
export interface UniformSource {
  uniform(): number;
}

type Rows = Float32Array | Float64Array;

export interface Clustering {
  /** [k, d], row-major; k ≤ the count asked for: no cluster is empty. */
  centres: Float64Array;
  /** [k]: rows in each cluster. */
  sizes: Int32Array;
}

const squaredDistance = (
  a: ArrayLike<number>,
  i: number,
  b: ArrayLike<number>,
  j: number,
  d: number,
): number => {
  let sum = 0;
  for (let c = 0; c < d; c++) {
    const difference = a[i + c] - b[j + c];
    sum += difference * difference;
  }
  return sum;
};

/** k-means++: each next centre is a row drawn with probability proportional to its squared distance from the centres so far. */
function seedCentres(rows: Rows, d: number, count: number, random: UniformSource): Float64Array {
  const n = rows.length / d;
  const centres = new Float64Array(count * d);
  const nearest = new Float64Array(n).fill(Infinity);
  let chosen = Math.floor(random.uniform() * n);
  for (let k = 0; ; k++) {
    centres.set(rows.subarray(chosen * d, (chosen + 1) * d), k * d);
    if (k + 1 === count) return centres;
    let total = 0;
    for (let i = 0; i < n; i++) {
      const distance = squaredDistance(rows, i * d, centres, k * d, d);
      if (distance < nearest[i]) nearest[i] = distance;
      total += nearest[i];
    }
    if (total === 0) return centres.slice(0, (k + 1) * d);
    let left = random.uniform() * total;
    chosen = -1;
    for (let i = 0; i < n && left >= 0; i++) {
      if (nearest[i] === 0) continue;
      left -= nearest[i];
      chosen = i;
    }
  }
}

function assign(rows: Rows, d: number, centres: Float64Array, owner: Int32Array): number {
  const k = centres.length / d;
  let moved = 0;
  for (let i = 0; i < owner.length; i++) {
    let best = Infinity;
    let at = 0;
    for (let m = 0; m < k; m++) {
      const distance = squaredDistance(rows, i * d, centres, m * d, d);
      if (distance < best) {
        best = distance;
        at = m;
      }
    }
    if (owner[i] !== at) moved++;
    owner[i] = at;
  }
  return moved;
}

/**
 * Lloyd's algorithm from a k-means++ start, over rows [n, d]. Stops when no row moves or after `iterations` rounds.
 * Deterministic in its inputs. Time O(n · count · d) a round.
 */
export function kMeans(
  rows: Rows,
  d: number,
  count: number,
  random: UniformSource,
  iterations = 8,
): Clustering {
  const n = rows.length / d;
  const centres = seedCentres(rows, d, Math.min(count, n), random);
  const k = centres.length / d;
  const owner = new Int32Array(n).fill(-1);
  const sizes = new Int32Array(k);
  for (let round = 0; round < iterations; round++) {
    if (assign(rows, d, centres, owner) === 0) break;
    const sums = new Float64Array(k * d);
    sizes.fill(0);
    for (let i = 0; i < n; i++) {
      sizes[owner[i]]++;
      for (let c = 0; c < d; c++) sums[owner[i] * d + c] += rows[i * d + c];
    }
    for (let m = 0; m < k; m++) {
      if (sizes[m] === 0) continue;
      for (let c = 0; c < d; c++) centres[m * d + c] = sums[m * d + c] / sizes[m];
    }
  }
  const kept = [...sizes.keys()].filter((m) => sizes[m] > 0);
  const result = {
    centres: new Float64Array(kept.length * d),
    sizes: Int32Array.from(kept, (m) => sizes[m]),
  };
  kept.forEach((m, j) => result.centres.set(centres.subarray(m * d, (m + 1) * d), j * d));
  return result;
}
