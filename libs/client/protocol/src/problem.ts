import { z } from 'zod';

const KINDS = {
  'invalid-request': { status: 400, title: 'Invalid request' },
  'malformed-body': { status: 400, title: 'Malformed body' },
  'malformed-report': { status: 400, title: 'Malformed report' },
  'empty-batch': { status: 400, title: 'Empty batch' },
  'invalid-configuration': { status: 400, title: 'Invalid configuration' },
  unauthorised: { status: 401, title: 'Unauthorised' },
  forbidden: { status: 403, title: 'Forbidden' },
  'not-found': { status: 404, title: 'Not found' },
  'unknown-task': { status: 404, title: 'Unknown task' },
  'unknown-artifact': { status: 404, title: 'Unknown artifact' },
  'unknown-mechanism': { status: 404, title: 'Unknown mechanism' },
  'unknown-classifier': { status: 404, title: 'Unknown classifier' },
  'unknown-job': { status: 404, title: 'Unknown job' },
  'method-not-allowed': { status: 405, title: 'Method not allowed' },
  'scheduled-task': { status: 409, title: 'Task not open yet' },
  'closed-task': { status: 410, title: 'Closed task' },
  'name-taken': { status: 409, title: 'Name taken' },
  conflict: { status: 409, title: 'Conflict' },
  'too-few-reports': { status: 409, title: 'Too few reports' },
  'reports-deleted': { status: 410, title: 'Reports deleted' },
  'body-too-large': { status: 413, title: 'Body too large' },
  'batch-too-large': { status: 413, title: 'Batch too large' },
  'unsupported-media-type': { status: 415, title: 'Unsupported media type' },
  'reports-rejected': { status: 422, title: 'All reports rejected' },
  'invalid-dataset': { status: 422, title: 'Invalid dataset' },
  'invalid-record': { status: 422, title: 'Invalid record' },
  'too-many-requests': { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Internal error' },
  unavailable: { status: 503, title: 'Unavailable' },
} as const;

/** The short name of a problem; also the last part of its `type`. */
export type ProblemKind = keyof typeof KINDS;

export interface ProblemType {
  /** Stable identifier: programs compare it, people read `title` and `detail`. */
  readonly type: `urn:undertone:problem:${ProblemKind}`;
  readonly title: string;
  /** HTTP status. */
  readonly status: number;
}

/** Every kind of problem that a service answers with (RFC 9457), by its short name. */
export const PROBLEM_TYPES = Object.fromEntries(
  Object.entries(KINDS).map(([kind, rest]) => [kind, { type: `urn:undertone:problem:${kind}`, ...rest }]),
) as { readonly [K in ProblemKind]: ProblemType };

/** An RFC 9457 problem document; extension members other than the known ones pass through. */
export const ProblemDocument = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.int().min(400).max(599),
  /** What is wrong in this one case: names the value, the rule and what to do. */
  detail: z.string().optional(),
  /** The request path. */
  instance: z.string().optional(),
  /** Finds this request in the service's log. */
  correlationId: z.string().optional(),
  /** One entry a bad field, where there may be several. */
  errors: z.array(z.object({ field: z.string(), detail: z.string() })).optional(),
});
export type ProblemDocument = z.infer<typeof ProblemDocument>;

/** A problem document of a known kind. `members` adds to or replaces nothing but the optional members. */
export function problemDocument(
  kind: ProblemKind,
  members: { detail: string; instance?: string; correlationId?: string; errors?: ProblemDocument['errors'] },
): ProblemDocument {
  return { ...PROBLEM_TYPES[kind], ...members };
}

/** The short name of a document's `type`; undefined where it isn't one of ours (a proxy's answer, say). */
export function problemKind(document: Pick<ProblemDocument, 'type'>): ProblemKind | undefined {
  const kind = /^urn:undertone:problem:(.+)$/.exec(document.type)?.[1];
  return kind !== undefined && Object.hasOwn(KINDS, kind) ? (kind as ProblemKind) : undefined;
}
