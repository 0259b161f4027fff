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
  | 'reports-deleted'
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
export function reasonOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return String(thrown);
  const { message, errors } = thrown as { message?: unknown; errors?: unknown };
  // A connection tried over several addresses fails with an error for each and no message of its own.
  if (Array.isArray(errors) && !message) return errors.map(reasonOf).join('; ');
  return typeof message === 'string' ? message : String(thrown);
}

/** The `code` of a system or PostgreSQL error. */
export const codeOf = (thrown: unknown): string | undefined =>
  typeof thrown === 'object' && thrown !== null && 'code' in thrown && typeof thrown.code === 'string'
    ? thrown.code
    : undefined;
