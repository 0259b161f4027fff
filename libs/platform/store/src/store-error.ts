export type StoreErrorCode =
  | 'account-missing'
  | 'binaries-missing'
  | 'conflict'
  | 'data-folder-not-enterable'
  | 'data-folder-not-writable'
  | 'data-folder-in-use'
  | 'data-folder-of-other-version'
  | 'database-unreachable'
  | 'disk-full'
  | 'migration-changed'
  | 'migration-failed'
  | 'migration-half-applied'
  | 'migration-invalid'
  | 'migration-lock-timeout'
  | 'migration-missing'
  | 'migration-out-of-order'
  | 'not-found'
  | 'not-our-database'
  | 'password-missing'
  | 'server-did-not-start';

/** An error of the store. The code is stable; the message names the value, the rule and what to do. */
export class StoreError extends Error {
  override readonly name = 'StoreError';

  constructor(
    readonly code: StoreErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** The text of whatever was thrown. */
export const reasonOf = (thrown: unknown): string => {
  if (thrown instanceof AggregateError && thrown.message === '')
    return thrown.errors.map(reasonOf).join('; ');
  return thrown instanceof Error ? thrown.message : String(thrown);
};

/** The `code` of a system or PostgreSQL error. */
export const codeOf = (thrown: unknown): string | undefined =>
  typeof thrown === 'object' && thrown !== null && 'code' in thrown && typeof thrown.code === 'string'
    ? thrown.code
    : undefined;
