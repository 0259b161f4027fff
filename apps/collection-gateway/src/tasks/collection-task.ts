import { type Randomiser } from '@undertone/ldp';
import { type TaskDocument, taskStatusAt } from '@undertone/protocol';

/** A task as the gateway uses it: its row, and what its artifact says. */
export interface CollectionTask {
  readonly name: string;
  /** Artifact id, 64 hex digits. */
  readonly artifact: string;
  /** Ed25519 public key that signed the artifact, hex. */
  readonly signer: string;
  readonly labels: readonly string[];
  readonly epsilon: number;
  readonly opensAt: Date;
  readonly closesAt: Date | null;
  readonly minimumBatch: number;
  readonly perPersonCap: number;
  /** Since when its reports are being deleted, or are gone. */
  readonly reportsDroppedAt: Date | null;
  readonly randomiser: Pick<Randomiser, 'fault'>;
}

/** The public document of a task as it stands at `now` (milliseconds since 1970). */
export function taskDocument(task: CollectionTask, now: number): TaskDocument {
  const dates = {
    opensAt: task.opensAt.toISOString(),
    closesAt: task.closesAt === null ? null : task.closesAt.toISOString(),
  };
  return {
    name: task.name,
    artifact: task.artifact,
    signer: task.signer,
    labels: [...task.labels],
    epsilon: task.epsilon,
    ...dates,
    minimumBatch: task.minimumBatch,
    perPersonCap: task.perPersonCap,
    status: taskStatusAt(dates, now),
  };
}

const LONGEST_CACHING_S = 60;

/** How long the document stays true for certain, in whole seconds, at most a minute: a task may be closed early. */
export function secondsUntilChange({ opensAt, closesAt }: CollectionTask, now: number): number {
  const changes = [opensAt, closesAt].flatMap((at) =>
    at !== null && at.getTime() > now ? [at.getTime()] : [],
  );
  const seconds = Math.floor((Math.min(...changes) - now) / 1000);
  return Math.min(seconds, LONGEST_CACHING_S);
}
