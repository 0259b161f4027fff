import type { Claim, Randomiser, RandomiserSpec } from '@undertone/ldp';
import type { InputSchema } from '../input-schema/input-schema';

/** What was spent on the auxiliary set D1: nothing (its rows were public), or a central (ε, δ). */
export type AuxiliaryGuarantee =
  | { readonly kind: 'public' }
  | { readonly kind: 'central-dp'; readonly epsilon: number; readonly delta: number };

/** The randomiser's claim, which covers whoever reports, and what D1's people were promised. */
export interface MechanismClaim extends Claim {
  readonly d1: AuxiliaryGuarantee;
}

/** One dense layer: activation(x · kernel + bias), kernel `[inputs, outputs]` row-major, bias `[outputs]`. */
export interface EncoderLayer {
  readonly inputs: number;
  readonly outputs: number;
  readonly activation: 'relu' | 'linear';
}

/** f = ν∘h: h the layers, ν the scaling into the L1 ball. */
export interface EncoderSpec {
  readonly layers: readonly EncoderLayer[];
  readonly projection: { readonly kind: 'l1-ball'; readonly radius: number };
}

/** Everything in an artifact but the numbers of the encoder. It is closed: no field can hold a row of D1. */
export interface ArtifactBody {
  readonly name: string;
  readonly schema: InputSchema;
  /** The label set, in the order of the label's numbers. */
  readonly labels: readonly string[];
  readonly encoder: EncoderSpec;
  readonly randomiser: RandomiserSpec;
  /** As `mechanismClaim` computes it. */
  readonly claim: MechanismClaim;
  /**
   * Where it came from, for people: method, seed, engine, settings, D1's name and row count, final ELBO. Plain data
   * (strings, finite numbers, true/false, null, short lists, nested records) of at most 16 KiB.
   */
  readonly lineage: Readonly<Record<string, unknown>>;
}

/** The claim of a mechanism: computed from its randomiser, so that nobody types it in. */
export function mechanismClaim(randomiser: Randomiser, d1: AuxiliaryGuarantee): MechanismClaim {
  return { ...randomiser.claim, d1 };
}

/** The shapes of the weights of an encoder, in order: kernel and bias of each layer. */
export function weightSizes(encoder: EncoderSpec): number[] {
  return encoder.layers.flatMap(({ inputs, outputs }) => [inputs * outputs, outputs]);
}
