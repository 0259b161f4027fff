import { ArtifactId, TaskDocument, TaskName } from '@undertone/protocol';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';

const DEFAULT_MINIMUM_BATCH = 100;
const MAXIMUM_COUNT = 1_000_000_000;

const Time = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 time with a zone, such as 2030-01-31T12:00:00Z' })
  .transform((text) => new Date(text));

const Count = z.int().min(1).max(MAXIMUM_COUNT);

/** What is asked for when a task is made. */
export const TaskRequest = z.strictObject({
  name: TaskName,
  /** Id of a published artifact. */
  artifact: ArtifactId,
  /** Those of the artifact, in its order; left out, they are taken from it. */
  labels: z.array(z.string()).optional(),
  /** Now, unless given. */
  opensAt: Time.optional(),
  /** Without an end, unless given. */
  closesAt: Time.nullish(),
  minimumBatch: Count.default(DEFAULT_MINIMUM_BATCH),
  perPersonCap: Count.default(1),
});
export type TaskRequest = z.infer<typeof TaskRequest>;

export class TaskRequestBody extends createZodDto(TaskRequest) {}
export class TaskDocumentBody extends createZodDto(TaskDocument) {}
export class TaskListBody extends createZodDto(z.object({ tasks: z.array(TaskDocument) })) {}
