import { ClosedTaskSweeper, type ClosedTaskSettings } from './closed-task-sweeper';

const NOW = Date.parse('2030-06-30T12:00:00Z');

beforeEach(() => jest.useFakeTimers({ now: NOW }));
afterEach(() => jest.useRealTimers());

/** Tasks by the time of their end; expired ones wait to be dropped. */
class Partitions {
  readonly expiredAt = new Map<string, number>();

  constructor(private readonly closedAt: Map<string, Date>) {}

  async expire(closedBefore: Date): Promise<string[]> {
    const expired = [...this.closedAt].filter(([, at]) => at < closedBefore).map(([task]) => task);
    for (const task of expired) this.closedAt.delete(task);
    for (const task of expired) this.expiredAt.set(task, Date.now());
    return expired;
  }

  async dropOne(expiredBefore: Date): Promise<{ task: string; bytes: number } | undefined> {
    const next = [...this.expiredAt].find(([, at]) => at <= expiredBefore.getTime());
    if (next === undefined) return undefined;
    this.expiredAt.delete(next[0]);
    return { task: next[0], bytes: 1 };
  }
}

const sweeperOf = (closedAt: Record<string, string>, settings: Partial<ClosedTaskSettings> = {}) => {
  const told: string[] = [];
  const sweeper = new ClosedTaskSweeper(
    new Partitions(new Map(Object.entries(closedAt).map(([task, at]) => [task, new Date(at)]))),
    {
      keepDays: 30,
      everyMs: 30_000,
      onFailure: (error) => told.push(`failed: ${(error as Error).message}`),
      onExpired: (tasks) => told.push(`expired: ${tasks.join()}`),
      onDropped: ({ task }) => told.push(`dropped: ${task}`),
      ...settings,
    },
  );
  return { sweeper, told };
};

it('expires what closed before the days that reports are kept, and drops a task a sweep, after the grace', async () => {
  const { sweeper, told } = sweeperOf({
    old: '2030-05-31T11:59:59Z',
    older: '2030-05-01T00:00:00Z',
    recent: '2030-05-31T12:00:00Z',
  });
  sweeper.start();
  await jest.advanceTimersByTimeAsync(30_000);
  // Half a minute has passed: the third has closed long enough ago as well.
  expect(told).toEqual(['expired: old,older,recent']);
  await jest.advanceTimersByTimeAsync(30_000);
  expect(told).toHaveLength(1);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(told.slice(1)).toEqual(['dropped: old', 'dropped: older']);
  await jest.advanceTimersByTimeAsync(30_000);
  expect(told.slice(3)).toEqual(['dropped: recent']);
  await sweeper.stop();
});

it('keeps what closed later', async () => {
  const { sweeper, told } = sweeperOf({ recent: '2030-05-31T12:00:00Z' });
  await sweeper.sweep();
  expect(told).toEqual([]);
});

it('tells a drop that had to give way, and tries again', async () => {
  const { sweeper, told } = sweeperOf({ old: '2030-01-01' }, { graceMs: 0 });
  const dropOne = jest.spyOn(Partitions.prototype, 'dropOne');
  dropOne.mockRejectedValueOnce(new Error('lock timeout'));
  sweeper.start();
  await jest.advanceTimersByTimeAsync(60_000);
  dropOne.mockRestore();
  expect(told).toEqual(['expired: old', 'failed: lock timeout', 'dropped: old']);
  await sweeper.stop();
});
