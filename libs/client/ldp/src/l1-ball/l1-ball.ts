import { addUp } from '../exact/directed-rounding';
import { LdpError } from '../ldp-error';

/** An upper bound of Σ|zᵢ| over the reals, at most d rounding steps above it. NaN if a coordinate is NaN. */
export function l1NormUpperBound(z: ArrayLike<number>): number {
  let norm = 0;
  for (let i = 0; i < z.length; i++) norm = addUp(norm, Math.abs(z[i]));
  return norm;
}

/**
 * ν(h) = h · min(1, l/‖h‖₁) (RLM eq. 9): a point `[d]` of the same direction inside the ball of radius l = `radius`.
 * The doubles returned satisfy Σ|zᵢ| ≤ l over the reals, not only up to rounding: the L1 sensitivity of anything
 * that ends in this map is at most 2l. A point already inside is returned unchanged (as a copy).
 *
 * @throws LdpError `outside-domain` where a coordinate is NaN or infinite, or the norm overflows.
 */
export function scaleIntoL1Ball(h: ArrayLike<number>, radius: number): Float64Array {
  const norm = l1NormUpperBound(h);
  if (!Number.isFinite(norm)) throw notFinite(h);
  const z = Float64Array.from(h);
  if (norm <= radius) return z;
  for (let slack = 0; ; slack = slack === 0 ? 2 ** -52 : 2 * slack) {
    const divisor = (norm / radius) * (1 + slack);
    for (let i = 0; i < z.length; i++) z[i] = h[i] / divisor;
    if (l1NormUpperBound(z) <= radius) return z;
  }
}

function notFinite(h: ArrayLike<number>): LdpError {
  for (let i = 0; i < h.length; i++) {
    if (!Number.isFinite(h[i])) {
      return new LdpError('outside-domain', `coordinate ${i} is ${h[i]}: every coordinate must be finite`);
    }
  }
  return new LdpError('outside-domain', 'the L1 norm overflows: scale the representation down');
}
