import { z } from 'zod';
import { RejectionReason } from './receipt';
import { TaskName } from './report';

/** Names the form of a message about a rejected log entry: {@link RejectedEntry} as JSON. */
export const REJECTION_SCHEMA = 'undertone.rejection.v1';

/**
 * A log entry that can never be stored, as the topic of rejected entries tells it. Partition and offset name one
 * entry of the log for ever, so a message that comes twice can be told. Holds nothing that a device sent.
 */
export const RejectedEntry = z.object({
  /** The log's name: offsets of another log mean something else. */
  log: z.string().min(1),
  partition: z.int().nonnegative(),
  /** As text: it may be larger than a JSON number can say. */
  offset: z.string().regex(/^\d+$/),
  /** A task that exists; null where the entry names none, or couldn't be read. */
  task: TaskName.nullable(),
  reason: RejectionReason,
  /** Names the rule. */
  detail: z.string(),
  /** When it was rejected: ISO 8601 in UTC. */
  at: z.iso.datetime(),
});
export type RejectedEntry = z.infer<typeof RejectedEntry>;
