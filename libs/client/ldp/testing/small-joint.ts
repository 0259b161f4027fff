import {
  KAryRandomisedResponse,
  LdpError,
  type Claim,
  type RandomSource,
  type Randomiser,
  type RandomiserSpec,
} from '../src/index';

/**
 * A toy randomiser of the pair for specs: z falls into one of 2d cells (its largest coordinate and that one's sign),
 * cell and label make one symbol of 2dK, and the symbol goes through randomised response at the whole ε. Its
 * likelihood has no factors and it has no `input`: what works with it assumes nothing about a payload.
 */
export class SmallJoint implements Randomiser {
  readonly spec: RandomiserSpec;
  readonly claim: Claim;
  readonly dimension: number;
  readonly classes: number;
  readonly payloadBytes: number;

  private readonly symbols: KAryRandomisedResponse;

  constructor({ dimension, classes, epsilon }: { dimension: number; classes: number; epsilon: number }) {
    this.symbols = new KAryRandomisedResponse({ kind: 'k-rr', classes: 2 * dimension * classes, epsilon });
    this.spec = { kind: 'small-joint', dimension, classes, epsilon } as unknown as RandomiserSpec;
    this.claim = { ...this.symbols.claim, parts: [{ of: 'pair', epsilon }] };
    this.dimension = dimension;
    this.classes = classes;
    this.payloadBytes = this.symbols.payloadBytes;
  }

  randomise(z: ArrayLike<number>, y: number, random: RandomSource): Uint8Array {
    return this.symbols.randomise(this.symbol(z, 0, y), random);
  }

  isPossible(payload: Uint8Array): boolean {
    return this.fault(payload) === undefined;
  }

  fault(payload: Uint8Array): string | undefined {
    return this.symbols.fault(payload);
  }

  logLikelihood(payload: Uint8Array, z: ArrayLike<number>, y: number): number {
    return this.symbols.logLikelihood(payload, this.symbol(z, 0, y));
  }

  logLikelihoods(payload: Uint8Array, points: ArrayLike<number>, out: Float64Array | Float32Array): void {
    const { dimension: d, classes: K } = this;
    for (let m = 0; m * d < points.length; m++) {
      for (let y = 0; y < K; y++) {
        out[m * K + y] = this.symbols.logLikelihood(payload, this.symbol(points, m * d, y));
      }
    }
  }

  private symbol(z: ArrayLike<number>, start: number, y: number): number {
    if (!Number.isInteger(y) || y < 0 || y >= this.classes) {
      throw new LdpError('outside-domain', `the label is ${y}: it must be below ${this.classes}`);
    }
    let largest = 0;
    for (let i = 1; i < this.dimension; i++) {
      if (Math.abs(z[start + i]) > Math.abs(z[start + largest])) largest = i;
    }
    const cell = 2 * largest + (z[start + largest] < 0 ? 1 : 0);
    return cell * this.classes + y;
  }
}
