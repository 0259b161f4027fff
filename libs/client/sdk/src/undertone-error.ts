/**
 * What went wrong, for programs:
 * `invalid-option` an option of the app; `unknown-task`, `scheduled-task`, `closed-task` as the gateway says;
 * `task-mismatch` the task's document and the signed artifact differ; `epsilon-exceeded` the artifact's claim is weaker
 * than the app allows; `unknown-label`; `reported-elsewhere` the record's one report under this artifact went to another
 * task; `unreachable` no answer after every attempt; `unexpected-answer` one that means nothing here; `cancelled`.
 */
export type UndertoneErrorCode =
  | 'invalid-option'
  | 'unknown-task'
  | 'scheduled-task'
  | 'closed-task'
  | 'task-mismatch'
  | 'epsilon-exceeded'
  | 'unknown-label'
  | 'reported-elsewhere'
  | 'unreachable'
  | 'unexpected-answer'
  | 'cancelled';

/** The message names the option or field and the rule; neither record nor label ever appears in it. */
export class UndertoneError extends Error {
  override readonly name = 'UndertoneError';
  /** HTTP status of the answer, where there was one. */
  readonly status?: number;
  /** How long the gateway asks to be left alone, in milliseconds. */
  readonly retryAfterMs?: number;

  constructor(
    readonly code: UndertoneErrorCode,
    message: string,
    more: { status?: number; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause });
    this.status = more.status;
    this.retryAfterMs = more.retryAfterMs;
  }
}
