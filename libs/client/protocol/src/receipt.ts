import { z } from 'zod';

/**
 * Why a report can never be stored. Data, not an error: it is stored, counted by task and told to the sender.
 * - `wrong-task`: the report names another task than the URL; in the log, none that took reports when it came.
 * - `wrong-artifact`: the task collects under another artifact.
 * - `impossible-payload`: the artifact's randomiser can't have made this payload.
 * - `malformed`: the report breaks the wire format.
 *
 * Of entries that someone else wrote to the log, also:
 * - `no-schema`: the entry doesn't say what it is.
 * - `unknown-schema`: it says that it is something else, or a version that isn't known.
 * - `too-large`: it has more bytes than any report.
 *
 * - `too-late`: it was valid when it came, but had waited in the log until the task's reports were deleted.
 */
export const RejectionReason = z.enum([
  'wrong-task',
  'wrong-artifact',
  'impossible-payload',
  'malformed',
  'no-schema',
  'unknown-schema',
  'too-large',
  'too-late',
]);
export type RejectionReason = z.infer<typeof RejectionReason>;

/** One refused report of a batch. */
export const Rejection = z.object({
  /** Position in the batch as sent. */
  index: z.int().nonnegative(),
  /** The report's id in hex; null where it couldn't be read. */
  id: z.string().nullable(),
  reason: RejectionReason,
  /** Names the field and the rule; never a payload. */
  detail: z.string(),
});
export type Rejection = z.infer<typeof Rejection>;

/**
 * The answer to one body of reports, single or batch: `202` once the log has every accepted one durably. Where none
 * is accepted, the answer is the problem `reports-rejected`, with the receipt's fields as extension members.
 */
export const BatchReceipt = z.object({
  accepted: z.int().nonnegative(),
  rejected: z.array(Rejection),
});
export type BatchReceipt = z.infer<typeof BatchReceipt>;

/** What became of a task's reports so far; once `waiting` is 0, every report acknowledged before is in a count. */
export const CountsDocument = z.object({
  task: z.string(),
  /** Distinct reports in the table. */
  stored: z.int().nonnegative(),
  /** Reports whose id was in the table already; the first body stands. */
  repeated: z.int().nonnegative(),
  /** Refused reports by reason; a reason that never occurred may be absent. */
  rejected: z.partialRecord(RejectionReason, z.int().nonnegative()),
  /** Accepted into the log and not ingested yet, of whatever task; null while the log can't be asked. */
  waiting: z.int().nonnegative().nullable(),
});
export type CountsDocument = z.infer<typeof CountsDocument>;
