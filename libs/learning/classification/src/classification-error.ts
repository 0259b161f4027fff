/**
 * What went wrong, for programs: `invalid-input` a setting, shape or label breaks a rule; `impossible-report` a payload
 * that the mechanism never sends; `unsupported` the mechanism lacks what was asked for; `too-large` a table that
 * would not fit the stated memory; `cancelled` the caller's signal was raised.
 */
export type ClassificationErrorCode =
  'invalid-input' | 'impossible-report' | 'unsupported' | 'too-large' | 'cancelled';

/** What this package throws on purpose (besides `PrivacyAlarm`). The message names the value and the rule. */
export class ClassificationError extends Error {
  override readonly name = 'ClassificationError';

  constructor(
    readonly code: ClassificationErrorCode,
    message: string,
  ) {
    super(message);
  }
}
