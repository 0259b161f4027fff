import { type Tensor2D, type Tensor } from '@tensorflow/tfjs-core';

/** A trainable tensor: what it is called, its shape, and its first values (row-major). */
export interface ParameterSpec {
  readonly name: string;
  readonly shape: readonly number[];
  readonly initial: Float32Array;
}

/** Tensors by name. */
export type NamedTensors = Readonly<Record<string, Tensor>>;

/** What a layer shows of itself on its way forward. */
export interface TapSite {
  readonly layer: string;
  /** The layer's input `[n, i]`. */
  readonly input: Tensor2D;
  /** What it computed before its activation `[n, o]`. */
  readonly preActivation: Tensor2D;
}

/**
 * Called by each layer with parameters, before its activation; a tensor that it returns takes the place of the
 * pre-activation. Adding a zero tensor there and differentiating by it gives δ of every example, and with the input the
 * norm of every example's gradient, in one backward pass: per-example clipping needs nothing else from a model.
 */
export type Tap = (site: TapSite) => Tensor2D | undefined;

/** A map of rows: knows its parameters and its way forward, and shows its inputs to a tap. */
export interface Layer {
  readonly name: string;
  readonly inputs: number;
  readonly outputs: number;
  readonly parameters: readonly ParameterSpec[];

  /**
   * @param input `[n, inputs]`
   * @param parameters at least this layer's own, by name
   * @returns `[n, outputs]`
   */
  forward(input: Tensor2D, parameters: NamedTensors, tap?: Tap): Tensor2D;
}
