import { freezeClaim, type Claim } from '../claim/claim';
import { requireEpsilon } from '../claim/epsilon';
import { exponentialLowerBound, FIXED_POINT_BITS } from '../exact/exponential';
import { LdpError } from '../ldp-error';
import type { RandomSource } from '../random/random-source';
import { TWO_53, uniformBelow, uniformInteger53 } from '../random/uniform';
import type { LabelRandomiser } from '../randomiser';

/** k-ary randomised response over K = `classes` labels. */
export interface KAryRandomisedResponseSpec {
  readonly kind: 'k-rr';
  /** K, an integer from 2 to 65,536. */
  readonly classes: number;
  readonly epsilon: number;
}

export type LabelSpec = KAryRandomisedResponseSpec;

const MAXIMUM_CLASSES = 65_536;

/**
 * k-ary randomised response: the label is kept with probability p ≈ e^ε/(e^ε + K − 1), else one of the K − 1 others
 * is sent, each alike.
 *
 * - Neighbouring: any two labels of [0, K).
 * - Guarantee: P(ỹ | y) ≤ e^ε · P(ỹ | y′), pure ε-LDP, exactly: p is T/2^53 with T the largest integer for which
 *   T(K − 1)/(2^53 − T) ≤ e^ε, all in integers. No assumption on arithmetic, given uniform bytes.
 * - Payload: one byte (K ≤ 256) or two, little-endian.
 * - Edge cases: a label that isn't an integer of [0, K) is refused. Above ε ≈ 36 + ln(K − 1), T is 2^53 − 1 and the
 *   mechanism spends less than it claims.
 * - As many words are drawn when the label is kept as when it isn't, so that time doesn't tell.
 *
 * Source: Kairouz, Oh, Viswanath 2014 (arXiv 1407.1338); RLM §3. Derivation: derivation.md.
 */
export class KAryRandomisedResponse implements LabelRandomiser {
  readonly spec: KAryRandomisedResponseSpec;
  readonly claim: Claim;
  readonly classes: number;
  readonly payloadBytes: 1 | 2;
  /** T: the label is kept in T of 2^53 equally likely cases. */
  readonly keepThreshold: number;
  /** P(ỹ = y), as sampled: T/2^53. */
  readonly keepProbability: number;
  /** P(ỹ = v) of each v ≠ y, as sampled: (1 − T/2^53)/(K − 1). */
  readonly otherProbability: number;

  private readonly logKeep: number;
  private readonly logOther: number;

  /** @throws LdpError `invalid-parameter`. */
  constructor(spec: KAryRandomisedResponseSpec) {
    const { classes, epsilon } = spec;
    if (!Number.isInteger(classes) || classes < 2 || classes > MAXIMUM_CLASSES) {
      throw new LdpError(
        'invalid-parameter',
        `the number of classes is ${classes}: it must be an integer from 2 to ${MAXIMUM_CLASSES}`,
      );
    }
    requireEpsilon(epsilon, 'label');
    this.spec = Object.freeze({ kind: 'k-rr', classes, epsilon });
    this.claim = freezeClaim({
      kind: 'pure-ldp',
      epsilon,
      delta: 0,
      parts: [{ of: 'label', epsilon }],
      neighbouring: 'any-two-records',
      composition: 'none',
      assumptions: ['one-report-per-record'],
    });
    this.classes = classes;
    this.payloadBytes = classes <= 256 ? 1 : 2;
    this.keepThreshold = keepThreshold(classes, epsilon);
    this.keepProbability = this.keepThreshold / TWO_53;
    this.otherProbability = (TWO_53 - this.keepThreshold) / TWO_53 / (classes - 1);
    this.logKeep = Math.log(this.keepProbability);
    this.logOther = Math.log(this.otherProbability);
  }

  randomise(y: number, random: RandomSource): Uint8Array {
    this.requireLabel(y);
    const keep = uniformInteger53(random) < this.keepThreshold;
    const other = uniformBelow(random, this.classes - 1);
    const sent = keep ? y : other < y ? other : other + 1;
    return this.payloadBytes === 1 ? Uint8Array.of(sent) : Uint8Array.of(sent & 0xff, sent >> 8);
  }

  fault(payload: Uint8Array): string | undefined {
    if (payload.length !== this.payloadBytes) {
      return `the label has ${payload.length} bytes: it must have ${this.payloadBytes}`;
    }
    const sent = decodeLabel(payload);
    return sent < this.classes ? undefined : `the label is ${sent}: it must be below ${this.classes}`;
  }

  logLikelihood(payload: Uint8Array, y: number): number {
    return this.decode(payload) === this.requireLabel(y) ? this.logKeep : this.logOther;
  }

  /** The noisy label ỹ of a payload. @throws LdpError `impossible-payload`. */
  decode(payload: Uint8Array): number {
    const fault = this.fault(payload);
    if (fault !== undefined) throw new LdpError('impossible-payload', fault);
    return decodeLabel(payload);
  }

  private requireLabel(y: number): number {
    if (!Number.isInteger(y) || y < 0 || y >= this.classes) {
      throw new LdpError(
        'outside-domain',
        `the label is ${y}: it must be an integer from 0 to ${this.classes - 1}`,
      );
    }
    return y;
  }
}

/** ⌊2^53 · E/(E + K − 1)⌋ with E a lower bound of e^ε: rounded so that the odds never exceed e^ε (derivation.md). */
function keepThreshold(classes: number, epsilon: number): number {
  const exponential = exponentialLowerBound(epsilon);
  const others = BigInt(classes - 1) << FIXED_POINT_BITS;
  return Number((BigInt(TWO_53) * exponential) / (exponential + others));
}

function decodeLabel(payload: Uint8Array): number {
  return payload.length === 1 ? payload[0] : payload[0] | (payload[1] << 8);
}
