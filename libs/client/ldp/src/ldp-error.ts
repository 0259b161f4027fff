/**
 * What went wrong, for programs:
 * `invalid-parameter` a public parameter breaks a rule; `outside-domain` the private record isn't one that the
 * mechanism covers; `impossible-payload` bytes that the mechanism never sends; `no-random-source` no
 * cryptographic generator, or one that is visibly broken.
 */
export type LdpErrorCode = 'invalid-parameter' | 'outside-domain' | 'impossible-payload' | 'no-random-source';

/** The only error that this package throws on purpose. The message names the value, the rule and the cure. */
export class LdpError extends Error {
  override readonly name = 'LdpError';

  constructor(
    readonly code: LdpErrorCode,
    message: string,
  ) {
    super(message);
  }
}
