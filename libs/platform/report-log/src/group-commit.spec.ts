import fc from 'fast-check';

import { GroupCommit, type GroupCommitSettings } from './group-commit';

interface Write {
  readonly group: readonly number[];
  resolve(): void;
  reject(error: Error): void;
}

/** Writes end when the spec says so. */
function held(settings: Partial<GroupCommitSettings<number>> = {}) {
  const writes: Write[] = [];
  const commits = new GroupCommit<number>({
    write: (group) =>
      new Promise<void>((resolve, reject) => {
        writes.push({ group, resolve, reject });
      }),
    maximumWaiting: 100,
    maximumWaitingBytes: 1e9,
    maximumGroup: 10,
    maximumWaitMs: 1e6,
    bytesOf: (item) => item,
    ...settings,
  });
  return { commits, writes };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('what is added while a write is under way goes out together in the next', async () => {
  const { commits, writes } = held();
  const additions = [commits.add([1]), commits.add([2])];
  await turn();
  additions.push(commits.add([3]), commits.add([4, 5]));
  await turn();
  expect(writes.map(({ group }) => group)).toEqual([[1, 2]]);
  writes[0].resolve();
  await turn();
  expect(writes.map(({ group }) => group)).toEqual([
    [1, 2],
    [3, 4, 5],
  ]);
  writes[1].resolve();
  await Promise.all(additions);
});

it('a write that fails fails those in it, and no others', async () => {
  const { commits, writes } = held();
  const first = commits.add([1]);
  const failure = expect(first).rejects.toThrow('disk');
  await turn();
  const second = commits.add([2]);
  writes[0].reject(new Error('disk'));
  await failure;
  await turn();
  writes[1].resolve();
  await second;
});

it('a group closes at its size, but no addition is split', async () => {
  const { commits, writes } = held();
  const sizes = [4, 4, 4, 4, 25, 1];
  const additions = sizes.map((size) => commits.add(new Array<number>(size).fill(1)));
  const groups: number[] = [];
  for (let i = 0; i < 3; i++) {
    await turn();
    groups.push(writes[i].group.length);
    writes[i].resolve();
  }
  await Promise.all(additions);
  expect(groups).toEqual([12, 29, 1]);
});

it('bytes that wait are bounded, and free again once written', async () => {
  const { commits, writes } = held({ maximumWaitingBytes: 50 });
  const first = commits.add([30, 20]);
  await expect(commits.add([1])).rejects.toMatchObject({ code: 'report-log-full' });
  await turn();
  writes[0].resolve();
  await first;
  const next = commits.add([50]);
  await turn();
  writes[1].resolve();
  await next;
});

it('writes everything once, in order, one write at a time, in any rhythm', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ size: fc.nat(5), turns: fc.nat(3) }), { maxLength: 20 }),
      async (rhythm) => {
        const written: number[] = [];
        let running = 0;
        const { commits } = held({
          write: async (group) => {
            expect(++running).toBe(1);
            await turn();
            written.push(...group);
            running--;
          },
        });
        const added: number[] = [];
        const additions: Promise<void>[] = [];
        for (const { size, turns } of rhythm) {
          const items = Array.from({ length: size }, (_, i) => added.length + i);
          added.push(...items);
          additions.push(commits.add(items));
          for (let i = 0; i < turns; i++) await turn();
        }
        await commits.close();
        await Promise.all(additions);
        expect(written).toEqual(added);
      },
    ),
    { numRuns: 50 },
  );
});
