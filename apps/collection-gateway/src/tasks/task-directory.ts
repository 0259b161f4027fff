import { TaskName } from '@undertone/protocol';
import { type Store, type TaskRecord } from '@undertone/store';
import { LRUCache } from 'lru-cache';

import { type ArtifactShelf } from '../artifacts/artifact-shelf';
import { type CollectionTask } from './collection-task';

/**
 * How long a task is taken as it was read. Another process may close it meanwhile; what is still accepted then is
 * within the ingest's grace.
 */
const FRESH_MS = 1_000;
const MAXIMUM_TASKS = 1_000;

/** Tasks by name, with what their artifacts say; read again every second while they are asked for. */
export class TaskDirectory {
  private readonly tasks = new LRUCache<string, CollectionTask>({ max: MAXIMUM_TASKS, ttl: FRESH_MS });
  /** Shared by all that ask meanwhile. Not the cache's own: it ends one whose entry is evicted or deleted with an error. */
  private readonly reads = new Map<string, Promise<CollectionTask | undefined>>();

  constructor(
    private readonly rows: Pick<Store['tasks'], 'find'>,
    private readonly artifacts: ArtifactShelf,
  ) {}

  /** A task that was read within the last second: for those that ask so often that waiting for a promise counts. */
  known(name: string): CollectionTask | undefined {
    return this.tasks.get(name);
  }

  /** Never remembers that there is no such task: it may be made the next moment. */
  async find(name: string): Promise<CollectionTask | undefined> {
    return this.tasks.get(name) ?? (TaskName.safeParse(name).success ? this.read(name) : undefined);
  }

  /** For a task that has just changed: what was read before, or is being read, is not remembered. */
  forget(name: string): void {
    this.tasks.delete(name);
    this.reads.delete(name);
  }

  /** A row with what its artifact says. */
  async describe(row: TaskRecord): Promise<CollectionTask> {
    const artifact = await this.artifacts.find(row.artifact);
    if (artifact === undefined) throw new Error(`task ${row.name} has no artifact ${row.artifact}`);
    const { signer, epsilon, randomiser } = artifact;
    return { ...row, signer, epsilon, randomiser };
  }

  private read(name: string): Promise<CollectionTask | undefined> {
    const underWay = this.reads.get(name);
    if (underWay !== undefined) return underWay;
    const read: Promise<CollectionTask | undefined> = this.load(name).then(
      (task) => {
        if (this.ends(name, read) && task !== undefined) this.tasks.set(name, task);
        return task;
      },
      (error: unknown) => {
        this.ends(name, read);
        throw error;
      },
    );
    this.reads.set(name, read);
    return read;
  }

  /** @returns whether it is still the one that counts */
  private ends(name: string, read: Promise<unknown>): boolean {
    return this.reads.get(name) === read && this.reads.delete(name);
  }

  private async load(name: string): Promise<CollectionTask | undefined> {
    const row = await this.rows.find(name);
    return row && this.describe(row);
  }
}
