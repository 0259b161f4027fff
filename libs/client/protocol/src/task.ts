import { z } from 'zod';
import { ArtifactId, SignerKey, TaskName } from './report';

export const TaskStatus = z.enum(['scheduled', 'open', 'closed']);
export type TaskStatus = z.infer<typeof TaskStatus>;

/** The public, cacheable description of one collection: all that a device needs besides the artifact itself. */
export const TaskDocument = z.object({
  name: TaskName,
  /** Id of the one artifact that the task collects under. */
  artifact: ArtifactId,
  /** Ed25519 public key that signed the artifact, hex. */
  signer: SignerKey,
  labels: z.array(z.string()).min(2),
  /** The artifact's whole ε for one record, as its claim states it. */
  epsilon: z.number().positive(),
  /** ISO 8601 in UTC. */
  opensAt: z.iso.datetime(),
  /** ISO 8601 in UTC; null for a task without an end. */
  closesAt: z.iso.datetime().nullable(),
  /** Reports below which nothing is fitted. */
  minimumBatch: z.int().min(1),
  /** Reports that one person is asked to send at most. */
  perPersonCap: z.int().min(1),
  status: TaskStatus,
});
export type TaskDocument = z.infer<typeof TaskDocument>;

/** Where a task stands at `now` (milliseconds since 1970): opens at `opensAt`, closes at `closesAt` exactly. */
export function taskStatusAt(task: { opensAt: string; closesAt: string | null }, now: number): TaskStatus {
  if (now < Date.parse(task.opensAt)) return 'scheduled';
  return task.closesAt !== null && now >= Date.parse(task.closesAt) ? 'closed' : 'open';
}
