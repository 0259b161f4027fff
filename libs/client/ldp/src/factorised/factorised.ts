import { composeClaims, type Claim } from '../claim/claim';
import {
  KAryRandomisedResponse,
  type LabelSpec,
} from '../k-ary-randomised-response/k-ary-randomised-response';
import { LaplaceL1, type RepresentationSpec } from '../laplace-l1/laplace-l1';
import { LdpError } from '../ldp-error';
import type { RandomSource } from '../random/random-source';
import type { Factors, LabelRandomiser, Randomiser, RepresentationRandomiser } from '../randomiser';

/** Representation and label, each randomised alone. */
export interface FactorisedSpec {
  readonly kind: 'factorised';
  readonly representation: RepresentationSpec;
  readonly label: LabelSpec;
}

/**
 * The paper's randomiser of the pair: z̃ and ỹ drawn independently, p(z̃, ỹ | z, y) = p(z̃ | z) · P(ỹ | y).
 *
 * - Neighbouring: any two pairs (z, y), (z′, y′): representation and label may both change.
 * - Guarantee: ε = ε_representation + ε_label by basic composition, the sum rounded up; pure ε-LDP under the
 *   assumptions of either part.
 * - Payload: the bytes of z̃, then those of ỹ.
 * - Errors and edge cases: those of the parts. A record that is refused gives no payload.
 *
 * Source: RLM §3 (arXiv 2010.12464). Derivation: derivation.md.
 */
export class Factorised implements Randomiser {
  readonly spec: FactorisedSpec;
  readonly claim: Claim;
  readonly dimension: number;
  readonly classes: number;
  readonly payloadBytes: number;
  readonly factors: Factors;
  readonly input: RepresentationRandomiser;

  private readonly representation: RepresentationRandomiser;
  private readonly label: LabelRandomiser;

  /** @throws LdpError `invalid-parameter`. */
  constructor(spec: FactorisedSpec) {
    this.representation = createRepresentationRandomiser(spec.representation);
    this.label = createLabelRandomiser(spec.label);
    this.spec = Object.freeze({
      kind: 'factorised',
      representation: this.representation.spec,
      label: this.label.spec,
    });
    this.claim = composeClaims(this.representation.claim, this.label.claim);
    this.dimension = this.representation.dimension;
    this.classes = this.label.classes;
    this.payloadBytes = this.representation.payloadBytes + this.label.payloadBytes;
    this.input = this.representation;
    this.factors = Object.freeze({
      representation: this.representation,
      label: this.label,
      split: (payload: Uint8Array) => this.split(payload),
    });
  }

  randomise(z: ArrayLike<number>, y: number, random: RandomSource): Uint8Array {
    const label = this.label.randomise(y, random);
    const representation = this.representation.randomise(z, random);
    const payload = new Uint8Array(this.payloadBytes);
    payload.set(representation);
    payload.set(label, representation.length);
    return payload;
  }

  isPossible(payload: Uint8Array): boolean {
    return this.fault(payload) === undefined;
  }

  fault(payload: Uint8Array): string | undefined {
    if (payload.length !== this.payloadBytes) return this.lengthFault(payload);
    const { representation, label } = this.split(payload);
    return this.representation.fault(representation) ?? this.label.fault(label);
  }

  logLikelihood(payload: Uint8Array, z: ArrayLike<number>, y: number): number {
    const { representation, label } = this.split(payload);
    return this.representation.logLikelihood(representation, z) + this.label.logLikelihood(label, y);
  }

  logLikelihoods(payload: Uint8Array, points: ArrayLike<number>, out: Float64Array | Float32Array): void {
    const { representation, label } = this.split(payload);
    const K = this.classes;
    const ofPoint = new Float64Array(Math.floor(out.length / K));
    if (ofPoint.length * K !== out.length) {
      throw new LdpError(
        'invalid-parameter',
        `${out.length} results: it must be a multiple of the ${K} classes`,
      );
    }
    this.representation.logLikelihoods(representation, points, ofPoint);
    const ofLabel = Float64Array.from({ length: K }, (_, y) => this.label.logLikelihood(label, y));
    for (let m = 0; m < ofPoint.length; m++) {
      for (let y = 0; y < K; y++) out[m * K + y] = ofPoint[m] + ofLabel[y];
    }
  }

  private split(payload: Uint8Array): { representation: Uint8Array; label: Uint8Array } {
    if (payload.length !== this.payloadBytes) {
      throw new LdpError('impossible-payload', this.lengthFault(payload));
    }
    const end = this.representation.payloadBytes;
    return { representation: payload.subarray(0, end), label: payload.subarray(end) };
  }

  private lengthFault(payload: Uint8Array): string {
    return `the payload has ${payload.length} bytes: it must have ${this.payloadBytes}`;
  }
}

/** @throws LdpError `invalid-parameter` also for a kind that this version doesn't know. */
export function createRepresentationRandomiser(spec: RepresentationSpec): RepresentationRandomiser {
  switch (spec?.kind) {
    case 'laplace-l1':
      return new LaplaceL1(spec);
    default:
      throw unknownKind('representation randomiser', spec, ['laplace-l1']);
  }
}

/** @throws LdpError `invalid-parameter` also for a kind that this version doesn't know. */
export function createLabelRandomiser(spec: LabelSpec): LabelRandomiser {
  switch (spec?.kind) {
    case 'k-rr':
      return new KAryRandomisedResponse(spec);
    default:
      throw unknownKind('label randomiser', spec, ['k-rr']);
  }
}

function unknownKind(what: string, spec: { kind?: unknown } | undefined, known: string[]): LdpError {
  return new LdpError(
    'invalid-parameter',
    `kind of the ${what} is ${String(spec?.kind)}: this version knows ${known.join(', ')}`,
  );
}
