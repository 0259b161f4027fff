import { createHash } from 'node:crypto';

/** Plain data that says what is trained, on what, and how. */
export type TrainingIdentity = Readonly<Record<string, unknown>>;

/** SHA-256 (hex) of the data as JSON with its keys in order, so that the order of writing does not matter. */
export function fingerprintOf(identity: TrainingIdentity): string {
  return createHash('sha256')
    .update(JSON.stringify(identity, (_key, value: unknown) => sorted(value)))
    .digest('hex');
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
