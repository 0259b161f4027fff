import { freezeClaim, type Claim } from '../claim/claim';
import { requireEpsilon } from '../claim/epsilon';
import { divideUp } from '../exact/directed-rounding';
import { l1NormUpperBound, scaleIntoL1Ball } from '../l1-ball/l1-ball';
import { LdpError } from '../ldp-error';
import type { RandomSource } from '../random/random-source';
import { low53Bits, TWO_53 } from '../random/uniform';
import type { RepresentationRandomiser } from '../randomiser';

/** Laplace noise on {z ∈ ℝᵈ : ‖z‖₁ ≤ radius}. */
export interface LaplaceL1Spec {
  readonly kind: 'laplace-l1';
  /** d, an integer from 1 to 16,384 (a payload of 64 KiB). */
  readonly dimension: number;
  /** l, from 1e-12 to 1e12; only l/scale matters. */
  readonly radius: number;
  readonly epsilon: number;
}

export type RepresentationSpec = LaplaceL1Spec;

const MAXIMUM_DIMENSION = 16_384;
const SMALLEST_RADIUS = 1e-12;
const LARGEST_RADIUS = 1e12;
/** How far outside the ball a sum rounded by the caller may lie; such a point is scaled into the ball first. */
const RADIUS_TOLERANCE = 1e-9;
/** The largest standard Laplace variate that 53 bits give: −ln 2^-53, rounded up. */
const LARGEST_VARIATE = 36.7368005696772;
const BYTES_PER_VARIATE = 8;
const BYTES_PER_COORDINATE = 4;

/**
 * The Laplace mechanism on the L1 ball: z̃ = z + b · X, the Xᵢ independent standard Laplace variates.
 *
 * - Neighbouring: any two representations z, z′ of the ball of radius l (so any two records).
 * - Sensitivity: max ‖z − z′‖₁ = 2l, kept over the reals by refusing or rescaling what lies outside.
 * - Scale b = 2l/ε, rounded up. Guarantee: p(z̃ | z) ≤ e^ε · p(z̃ | z′), pure ε-LDP.
 * - Assumes real arithmetic (`idealised-real-arithmetic` in the claim): noise is drawn in double precision from 53
 *   uniform bits and so takes finitely many values, the Mironov (2012) leak. Rounding to float32 afterwards is
 *   post-processing.
 * - Payload: d little-endian float32, 4d bytes. Error of a coordinate: variance 2b².
 * - Edge cases: a NaN, infinite or missing coordinate is refused; so is ‖z‖₁ > l(1 + 1e-9); a norm between l and
 *   that is scaled into the ball; z = 0 is an ordinary point.
 *
 * Source: RLM §3 (arXiv 2010.12464), Dwork et al. 2006. Derivation: derivation.md.
 */
export class LaplaceL1 implements RepresentationRandomiser {
  readonly spec: LaplaceL1Spec;
  readonly claim: Claim;
  readonly dimension: number;
  readonly payloadBytes: number;
  /** b, in the units of z. */
  readonly scale: number;
  /** No coordinate of a payload is larger in magnitude: l + b · 53 ln 2. */
  readonly largestCoordinate: number;

  private readonly logNormaliser: number;
  private readonly uniform: Uint8Array;
  private readonly uniformView: DataView;

  /** @throws LdpError `invalid-parameter`. */
  constructor(spec: LaplaceL1Spec) {
    const { dimension, radius, epsilon } = spec;
    if (!Number.isInteger(dimension) || dimension < 1 || dimension > MAXIMUM_DIMENSION) {
      throw new LdpError(
        'invalid-parameter',
        `dimension is ${dimension}: it must be an integer from 1 to ${MAXIMUM_DIMENSION}`,
      );
    }
    if (typeof radius !== 'number' || !(radius >= SMALLEST_RADIUS && radius <= LARGEST_RADIUS)) {
      throw new LdpError(
        'invalid-parameter',
        `radius is ${radius}: it must be a number from ${SMALLEST_RADIUS} to ${LARGEST_RADIUS}`,
      );
    }
    requireEpsilon(epsilon, 'representation');
    this.spec = Object.freeze({ kind: 'laplace-l1', dimension, radius, epsilon });
    this.claim = freezeClaim({
      kind: 'pure-ldp',
      epsilon,
      delta: 0,
      parts: [{ of: 'representation', epsilon }],
      neighbouring: 'any-two-records',
      composition: 'none',
      assumptions: ['idealised-real-arithmetic', 'one-report-per-record'],
    });
    this.dimension = dimension;
    this.payloadBytes = dimension * BYTES_PER_COORDINATE;
    this.scale = divideUp(2 * radius, epsilon);
    const bound = radius + this.scale * LARGEST_VARIATE;
    this.largestCoordinate = bound * (1 + 2 ** -23);
    this.logNormaliser = -dimension * Math.log(2 * this.scale);
    this.uniform = new Uint8Array(dimension * BYTES_PER_VARIATE);
    this.uniformView = new DataView(this.uniform.buffer);
  }

  randomise(z: ArrayLike<number>, random: RandomSource): Uint8Array {
    const inside = this.insideBall(z);
    const payload = new Uint8Array(this.payloadBytes);
    const out = new DataView(payload.buffer);
    random.fill(this.uniform);
    for (let i = 0; i < this.dimension; i++) {
      const noise = this.scale * this.variate(i * BYTES_PER_VARIATE);
      out.setFloat32(i * BYTES_PER_COORDINATE, inside[i] + noise, true);
    }
    this.uniform.fill(0);
    return payload;
  }

  fault(payload: Uint8Array): string | undefined {
    if (payload.length !== this.payloadBytes) return this.lengthFault(payload);
    const view = viewOf(payload);
    for (let i = 0; i < this.dimension; i++) {
      const value = view.getFloat32(i * BYTES_PER_COORDINATE, true);
      if (!(Math.abs(value) <= this.largestCoordinate)) {
        return `coordinate ${i} is ${value}: it must be a number of magnitude at most ${this.largestCoordinate}`;
      }
    }
    return undefined;
  }

  /** ln p(z̃ | z) = −‖z̃ − z‖₁/b − d ln 2b. */
  logLikelihood(payload: Uint8Array, z: ArrayLike<number>): number {
    this.requireLength(payload);
    this.requireDimension(z);
    const view = viewOf(payload);
    let distance = 0;
    for (let i = 0; i < this.dimension; i++) {
      distance += Math.abs(view.getFloat32(i * BYTES_PER_COORDINATE, true) - z[i]);
    }
    return this.logNormaliser - distance / this.scale;
  }

  logLikelihoods(payload: Uint8Array, points: ArrayLike<number>, out: Float64Array | Float32Array): void {
    this.requireLength(payload);
    const d = this.dimension;
    if (points.length !== out.length * d) {
      throw new LdpError(
        'invalid-parameter',
        `${points.length} numbers of points for ${out.length} results: it must be ${d} numbers a point`,
      );
    }
    const noisy = LaplaceL1.decode(payload);
    for (let m = 0; m < out.length; m++) {
      let distance = 0;
      for (let i = 0; i < d; i++) distance += Math.abs(noisy[i] - points[m * d + i]);
      out[m] = this.logNormaliser - distance / this.scale;
    }
  }

  /** The noisy representation z̃ `[d]` of a payload. */
  static decode(payload: Uint8Array): Float64Array {
    const view = viewOf(payload);
    return Float64Array.from({ length: payload.length / BYTES_PER_COORDINATE }, (_, i) =>
      view.getFloat32(i * BYTES_PER_COORDINATE, true),
    );
  }

  /** ±E with E = −ln U, U uniform on the multiples of 2^-53 in (0, 1], and a sign from a bit that U doesn't use. */
  private variate(offset: number): number {
    const magnitude = -Math.log((low53Bits(this.uniformView, offset) + 1) / TWO_53);
    return this.uniform[offset + 7] & 0x80 ? -magnitude : magnitude;
  }

  private insideBall(z: ArrayLike<number>): ArrayLike<number> {
    this.requireDimension(z);
    const { radius } = this.spec;
    const norm = l1NormUpperBound(z);
    if (norm > radius * (1 + RADIUS_TOLERANCE)) {
      throw new LdpError(
        'outside-domain',
        `‖z‖₁ is ${norm}: it must be at most the radius ${radius}, or the noise would not cover it`,
      );
    }
    return scaleIntoL1Ball(z, radius);
  }

  private requireDimension(z: ArrayLike<number>): void {
    if (z.length !== this.dimension) {
      throw new LdpError('outside-domain', `z has ${z.length} coordinates: it must have ${this.dimension}`);
    }
  }

  private requireLength(payload: Uint8Array): void {
    if (payload.length !== this.payloadBytes) {
      throw new LdpError('impossible-payload', this.lengthFault(payload));
    }
  }

  private lengthFault(payload: Uint8Array): string {
    return `the representation has ${payload.length} bytes: it must have ${this.payloadBytes} (${this.dimension} float32)`;
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
