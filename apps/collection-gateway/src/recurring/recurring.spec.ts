import { Recurring } from './recurring';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** Work that ends when it is told to. */
class Work {
  runs = 0;
  private end = { resolve: (): void => undefined, reject: (_: Error): void => undefined };

  readonly run = (): Promise<void> => {
    this.runs++;
    return new Promise((resolve, reject) => (this.end = { resolve, reject }));
  };

  async ends(failure?: Error): Promise<void> {
    if (failure === undefined) this.end.resolve();
    else this.end.reject(failure);
    await jest.advanceTimersByTimeAsync(0);
  }
}

const start = () => {
  const work = new Work();
  const failures: unknown[] = [];
  const recurring = new Recurring(work.run, { everyMs: 100, onFailure: (error) => failures.push(error) });
  recurring.start();
  return { work, failures, recurring };
};

it('runs after each pause, one run at a time', async () => {
  const { work } = start();
  expect(work.runs).toBe(0);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(work.runs).toBe(1);
  await work.ends();
  await jest.advanceTimersByTimeAsync(99);
  expect(work.runs).toBe(1);
  await jest.advanceTimersByTimeAsync(1);
  expect(work.runs).toBe(2);
});

it('tells a failure and goes on', async () => {
  const { work, failures } = start();
  const failure = new Error('away');
  await jest.advanceTimersByTimeAsync(100);
  await work.ends(failure);
  expect(failures).toEqual([failure]);
  await jest.advanceTimersByTimeAsync(100);
  expect(work.runs).toBe(2);
});

it('runs at once when woken, and once more when woken during a run', async () => {
  const { work, recurring } = start();
  recurring.wake();
  recurring.wake();
  await jest.advanceTimersByTimeAsync(0);
  expect(work.runs).toBe(1);
  recurring.wake();
  recurring.wake();
  await jest.advanceTimersByTimeAsync(0);
  expect(work.runs).toBe(1);
  await work.ends();
  expect(work.runs).toBe(2);
  await work.ends();
  await jest.advanceTimersByTimeAsync(99);
  expect(work.runs).toBe(2);
});

it('keeps the pause after a failure, however often it is woken', async () => {
  const { work, recurring } = start();
  recurring.wake();
  await jest.advanceTimersByTimeAsync(0);
  recurring.wake();
  await work.ends(new Error('away'));
  recurring.wake();
  await jest.advanceTimersByTimeAsync(99);
  expect(work.runs).toBe(1);
  await jest.advanceTimersByTimeAsync(1);
  expect(work.runs).toBe(2);
  await work.ends();
  recurring.wake();
  await jest.advanceTimersByTimeAsync(0);
  expect(work.runs).toBe(3);
});

it('stop waits for the run under way, after which nothing runs', async () => {
  const { work, recurring } = start();
  await jest.advanceTimersByTimeAsync(100);
  recurring.wake();
  let stopped = false;
  const stopping = recurring.stop().then(() => (stopped = true));
  await jest.advanceTimersByTimeAsync(1_000);
  expect(stopped).toBe(false);
  await work.ends();
  await stopping;
  recurring.wake();
  await jest.advanceTimersByTimeAsync(1_000);
  expect(work.runs).toBe(1);
});
