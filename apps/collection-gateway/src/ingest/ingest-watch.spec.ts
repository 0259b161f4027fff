import { type Subscription } from '@undertone/report-log';

import { type IngestError, IngestWatch } from './ingest-watch';

const STALL_MS = 10_000;

function watched() {
  let die: (reason: Error) => void = () => undefined;
  let active = new Date();
  const failures: IngestError[] = [];
  const subscription: Subscription = {
    lastActiveAt: () => active,
    died: new Promise((resolve) => (die = resolve)),
    stop: async () => undefined,
  };
  const watch = new IngestWatch(subscription, {
    stallMs: STALL_MS,
    onFailure: (failure) => failures.push(failure),
  });
  return { watch, failures, die, act: () => (active = new Date()) };
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

it('says nothing of a subscription that is active now and then', async () => {
  const { failures, act, watch } = watched();
  for (let i = 0; i < 20; i++) {
    await jest.advanceTimersByTimeAsync(STALL_MS - 100);
    act();
  }
  expect(failures).toEqual([]);
  await jest.advanceTimersByTimeAsync(3_000);
  expect(watch.inactiveSeconds()).toBe(3);
});

it('notices one that does nothing any more, once', async () => {
  const { failures } = watched();
  await jest.advanceTimersByTimeAsync(STALL_MS);
  expect(failures).toEqual([]);
  await jest.advanceTimersByTimeAsync(STALL_MS / 4);
  expect(failures).toHaveLength(1);
  expect(failures[0]).toMatchObject({
    code: 'ingest-stuck',
    message: expect.stringMatching(/nothing for 1[01]\d{3} ms .*UNDERTONE_INGEST_STALL_MS is 10000/),
  });
  await jest.advanceTimersByTimeAsync(10 * STALL_MS);
  expect(failures).toHaveLength(1);
});

it('notices one that dies, at once and with its reason', async () => {
  const { failures, die } = watched();
  const reason = new Error('the group was deleted');
  die(reason);
  await jest.advanceTimersByTimeAsync(0);
  expect(failures).toHaveLength(1);
  expect(failures[0]).toMatchObject({ code: 'ingest-dead', cause: reason });
  expect(failures[0].message).toContain('the group was deleted');
});

it('doesn’t blame the subscription for a process that was stopped itself', async () => {
  const { failures } = watched();
  await jest.advanceTimersByTimeAsync(1_000);
  // As after SIGSTOP and SIGCONT, or a machine that slept: the clock has gone on, the timers have not.
  jest.setSystemTime(Date.now() + 100 * STALL_MS);
  await jest.advanceTimersByTimeAsync(STALL_MS);
  expect(failures).toEqual([]);
  await jest.advanceTimersByTimeAsync(STALL_MS / 2);
  expect(failures).toHaveLength(1);
});

it('is silent once it is stopped', async () => {
  const { watch, failures, die } = watched();
  watch.stop();
  die(new Error('stopped'));
  await jest.advanceTimersByTimeAsync(10 * STALL_MS);
  expect(failures).toEqual([]);
  expect(jest.getTimerCount()).toBe(0);
});
