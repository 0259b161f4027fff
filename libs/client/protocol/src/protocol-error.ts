import type { ProblemKind } from './problem';

/** The kinds of problem that a report body can have. */
export type ProtocolErrorCode = Extract<
  ProblemKind,
  | 'malformed-body'
  | 'malformed-report'
  | 'empty-batch'
  | 'batch-too-large'
  | 'body-too-large'
  | 'unsupported-media-type'
>;

/** A body that breaks the wire format. The code is also a problem kind, so a service can answer with it as it is. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';

  constructor(
    readonly code: ProtocolErrorCode,
    message: string,
    /** The field at fault, where there is one: `reports[3].payload`. */
    readonly field?: string,
  ) {
    super(message);
  }
}
