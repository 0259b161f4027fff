import { type JobProgress } from './job';
import { type LeaseState } from './job-rows';
import { LeaseKeeper } from './lease-keeper';

const HELD: LeaseState = { held: true, cancelRequested: false };

describe('LeaseKeeper', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  function keeper(answer: () => Promise<LeaseState>) {
    const seen = { lost: 0, cancels: 0, faults: 0, writes: [] as { at: number; done: number | undefined }[] };
    const origin = performance.now();
    const lease = new LeaseKeeper({
      leaseMs: 9_000,
      intervalMs: 500,
      renew: (progress) => {
        seen.writes.push({ at: Math.round(performance.now() - origin), done: progress?.done });
        return answer();
      },
      onLost: () => seen.lost++,
      onCancelRequested: () => seen.cancels++,
      onFault: () => seen.faults++,
    });
    return { lease, seen };
  }
  const step = (done: number): JobProgress => ({ stage: 'fit', done, total: 100 });

  it('renews every third of the lease when there is no news', async () => {
    const { lease, seen } = keeper(async () => HELD);
    await jest.advanceTimersByTimeAsync(9_500);
    await lease.stop();
    expect(seen.writes.map(({ at }) => at)).toEqual([3_000, 6_000, 9_000]);
    expect(seen.lost).toBe(0);
  });

  it('writes the newest progress at most every interval', async () => {
    const { lease, seen } = keeper(async () => HELD);
    for (let done = 1; done <= 40; done++) {
      lease.report(step(done));
      await jest.advanceTimersByTimeAsync(50);
    }
    await lease.stop();
    expect(seen.writes).toEqual([
      { at: 500, done: 10 },
      { at: 1_000, done: 20 },
      { at: 1_500, done: 30 },
      { at: 2_000, done: 40 },
    ]);
  });

  it('tells of a cancellation and of a loss', async () => {
    let state: LeaseState = { held: true, cancelRequested: true };
    const { seen } = keeper(async () => state);
    await jest.advanceTimersByTimeAsync(3_000);
    expect(seen).toMatchObject({ cancels: 1, lost: 0 });
    state = { held: false, cancelRequested: false };
    await jest.advanceTimersByTimeAsync(30_000);
    expect(seen).toMatchObject({ cancels: 1, lost: 1 });
    expect(seen.writes).toHaveLength(2);
  });

  it('outlasts a failing database for as long as the lease, then counts it as lost', async () => {
    let broken = true;
    const { seen } = keeper(async () => {
      if (broken) throw new Error('no connection');
      return HELD;
    });
    await jest.advanceTimersByTimeAsync(8_500);
    expect(seen.lost).toBe(0);
    expect(seen.faults).toBe(12);
    broken = false;
    await jest.advanceTimersByTimeAsync(20_000);
    expect(seen.lost).toBe(0);
    broken = true;
    await jest.advanceTimersByTimeAsync(12_500);
    expect(seen.lost).toBe(1);
  });

  it('never has two writes under way', async () => {
    const answers: (() => void)[] = [];
    const { lease, seen } = keeper(() => new Promise((resolve) => answers.push(() => resolve(HELD))));
    lease.report(step(1));
    await jest.advanceTimersByTimeAsync(2_000);
    lease.report(step(2));
    await jest.advanceTimersByTimeAsync(2_000);
    expect(seen.writes).toHaveLength(1);
    answers[0]();
    await jest.advanceTimersByTimeAsync(500);
    expect(seen.writes.map(({ done }) => done)).toEqual([1, 2]);
    const stopped = lease.stop();
    answers[1]();
    await stopped;
  });
});
