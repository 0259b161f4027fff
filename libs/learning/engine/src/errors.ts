/** What went wrong in the engine; stable, so that a caller can decide by it. */
export type EngineErrorCode =
  /** No TensorFlow.js backend of the asked kind could be started. */
  | 'backend-unavailable'
  /** A step, layer or schedule was described in a way that can't work. */
  | 'invalid-definition'
  /** A feed is missing, unknown, or of another shape or type than the step was compiled for. */
  | 'invalid-feed'
  /** The step can't be turned into one graph: it is no pure function of its inputs, or uses an unknown operation. */
  | 'not-recordable'
  /** A saved state does not fit the step. */
  | 'invalid-state'
  /** The step was used after `dispose`. */
  | 'disposed'
  /** The loss is no longer a finite number. */
  | 'diverged';

/** An error of the engine; the message names the value, the rule and what to do. */
export class EngineError extends Error {
  override readonly name = 'EngineError';

  constructor(
    readonly code: EngineErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export type CheckpointErrorCode =
  /** The file is cut off, changed, or no checkpoint at all. */
  | 'damaged'
  /** Written by a newer version of this software. */
  | 'future-version'
  /** It belongs to another model, other settings, other data or another seed. */
  | 'other-training'
  /** The file could not be written or read. */
  | 'unusable-path';

/** A checkpoint that can't be used, and why. */
export class CheckpointError extends Error {
  override readonly name = 'CheckpointError';

  constructor(
    readonly code: CheckpointErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
