import { type Store, type TaskRecord } from '@undertone/store';

import { sampleTask } from '../../test/sample-task';
import { type ArtifactShelf } from '../artifacts/artifact-shelf';
import { TaskDirectory } from './task-directory';

const { signer, epsilon, randomiser, ...row } = sampleTask();
const REAL = row.name;
const artifacts = { find: async () => ({ signer, epsilon, randomiser }) } as unknown as ArtifactShelf;

/** The table of tasks, whose answers wait until they are let go. */
class HeldRows implements Pick<Store['tasks'], 'find'> {
  readonly asked: string[] = [];
  closesAt: Date | null = null;
  failure: Error | undefined;
  private held: (() => void)[] = [];

  async find(name: string): Promise<TaskRecord | undefined> {
    this.asked.push(name);
    const { closesAt, failure } = this;
    await new Promise<void>((resolve) => this.held.push(resolve));
    if (failure !== undefined) throw failure;
    return name === REAL ? ({ ...row, closesAt } as TaskRecord) : undefined;
  }

  answer(): void {
    for (const resolve of this.held.splice(0)) resolve();
  }
}

let rows: HeldRows;
let directory: TaskDirectory;

beforeEach(() => {
  rows = new HeldRows();
  directory = new TaskDirectory(rows, artifacts);
});

it('reads a task once for all that ask at the same time, then knows it', async () => {
  const asked = [directory.find(REAL), directory.find(REAL)];
  rows.answer();
  for (const task of await Promise.all(asked)) expect(task).toMatchObject({ name: REAL, epsilon });
  expect(directory.known(REAL)).toBe(await directory.find(REAL));
  expect(rows.asked).toEqual([REAL]);
});

it('finds a task, and that there is none, while many others are asked for', async () => {
  const real = directory.find(REAL);
  const others = Array.from({ length: 2_500 }, (_, i) => directory.find(`no-such-${i}`));
  rows.answer();
  expect(await real).toMatchObject({ name: REAL });
  expect(new Set(await Promise.all(others))).toEqual(new Set([undefined]));
  expect(directory.known(REAL)).toBeDefined();
});

it('keeps nothing that was read before the task changed', async () => {
  const before = directory.find(REAL);
  rows.closesAt = new Date();
  directory.forget(REAL);
  const after = directory.find(REAL);
  rows.answer();
  expect(await before).toMatchObject({ closesAt: null });
  expect(await after).toMatchObject({ closesAt: rows.closesAt });
  expect(directory.known(REAL)).toMatchObject({ closesAt: rows.closesAt });
  expect(rows.asked).toEqual([REAL, REAL]);
});

it('asks again after a failure', async () => {
  rows.failure = new Error('away');
  const failed = directory.find(REAL);
  rows.failure = undefined;
  rows.answer();
  await expect(failed).rejects.toThrow('away');
  const again = directory.find(REAL);
  rows.answer();
  expect(await again).toMatchObject({ name: REAL });
});

it('asks for no name that a task can’t have', async () => {
  expect(await directory.find('No Task!')).toBeUndefined();
  expect(rows.asked).toEqual([]);
});
