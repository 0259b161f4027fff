import { Injectable } from '@nestjs/common';
import { type TaskDocument } from '@undertone/protocol';
import { invalidRequest, Problem } from '@undertone/service';
import { type Store, StoreError } from '@undertone/store';
import { z } from 'zod';

import { ArtifactShelf, type ShelvedArtifact } from '../artifacts/artifact-shelf';
import { type CollectionTask, taskDocument } from './collection-task';
import { TaskDirectory } from './task-directory';
import { type TaskRequest } from './task-request';

/** Makes, finds and closes tasks. */
@Injectable()
export class TasksService {
  constructor(
    private readonly rows: Store['tasks'],
    private readonly artifacts: ArtifactShelf,
    private readonly directory: TaskDirectory,
  ) {}

  /** @throws Problem `unknown-artifact`, `name-taken` or `invalid-request` */
  async create(request: TaskRequest): Promise<TaskDocument> {
    const now = new Date();
    const artifact = await this.artifacts.find(request.artifact);
    if (artifact === undefined) throw unknownArtifact(request.artifact);
    const faults = requestFaults(request, artifact, now);
    if (faults.length > 0) throw invalidRequest(new z.ZodError(faults));
    try {
      await this.rows.create({
        name: request.name,
        artifact: request.artifact,
        labels: [...artifact.labels],
        opensAt: request.opensAt ?? now,
        closesAt: request.closesAt ?? undefined,
        minimumBatch: request.minimumBatch,
        perPersonCap: request.perPersonCap,
      });
    } catch (error) {
      if (error instanceof StoreError && error.code === 'conflict') {
        throw new Problem('name-taken', error.message, { cause: error });
      }
      if (error instanceof StoreError && error.code === 'not-found') throw unknownArtifact(request.artifact);
      throw error;
    }
    return this.document(await this.find(request.name));
  }

  /** As TaskDirectory.known. */
  known(name: string): CollectionTask | undefined {
    return this.directory.known(name);
  }

  /** @throws Problem `unknown-task` */
  async find(name: string): Promise<CollectionTask> {
    const task = await this.directory.find(name);
    if (task === undefined) throw new Problem('unknown-task', `there is no task ${JSON.stringify(name)}`);
    return task;
  }

  /** Newest first. */
  async list(): Promise<TaskDocument[]> {
    const rows = await this.rows.list();
    return Promise.all(rows.map(async (row) => this.document(await this.directory.describe(row))));
  }

  /** Takes no report from now on; closing a closed task changes nothing. @throws Problem `unknown-task` */
  async close(name: string): Promise<TaskDocument> {
    await this.find(name);
    await this.rows.close(name, new Date());
    this.directory.forget(name);
    return this.document(await this.find(name));
  }

  document(task: CollectionTask): TaskDocument {
    return taskDocument(task, Date.now());
  }
}

const unknownArtifact = (id: string): Problem =>
  new Problem('unknown-artifact', `there is no published mechanism with the artifact id ${id}`);

function requestFaults(
  { labels, opensAt, closesAt }: TaskRequest,
  artifact: ShelvedArtifact,
  now: Date,
): z.core.$ZodIssue[] {
  const faults: z.core.$ZodIssue[] = [];
  const add = (field: keyof TaskRequest, message: string): void =>
    void faults.push({ code: 'custom', path: [field], message, input: undefined });
  if (labels !== undefined && !sameList(labels, artifact.labels)) {
    add('labels', `must be those of the artifact, in its order: ${artifact.labels.join(', ')}`);
  }
  if (closesAt && closesAt <= (opensAt ?? now)) {
    add('closesAt', `is ${closesAt.toISOString()}; it must be after the task opens`);
  } else if (closesAt && closesAt <= now) {
    add('closesAt', `is ${closesAt.toISOString()}; it must lie in the future`);
  }
  return faults;
}

const sameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((item, i) => item === b[i]);
