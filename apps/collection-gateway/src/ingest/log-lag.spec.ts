import { LogLag } from './log-lag';

const positions = { positionOf: async () => undefined };

/** A log that answers when the spec says so. */
function heldLog() {
  const questions: { answer(lag: number): void; fail(error: Error): void }[] = [];
  const lag = () =>
    new Promise<number>((resolve, reject) => questions.push({ answer: resolve, fail: reject }));
  return { questions, lag: new LogLag({ lag }, positions) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

afterEach(() => jest.useRealTimers());

it('asks the log again for whoever comes while it is being asked, once for all of them', async () => {
  const { questions, lag } = heldLog();
  const first = lag.read();
  const later = [lag.read(), lag.read(), lag.read()];
  await turn();
  expect(questions).toHaveLength(1);
  questions[0].answer(7);
  expect(await first).toBe(7);
  await turn();
  expect(questions).toHaveLength(2);
  const last = lag.read();
  questions[1].answer(3);
  expect(await Promise.all(later)).toEqual([3, 3, 3]);
  await turn();
  questions[2].answer(0);
  expect(await last).toBe(0);
});

it('passes a failure on to those it concerns, and asks anew', async () => {
  const { questions, lag } = heldLog();
  const first = lag.read();
  const second = lag.read();
  questions[0].fail(new Error('away'));
  await expect(first).rejects.toThrow('away');
  await turn();
  questions[1].answer(1);
  expect(await second).toBe(1);
});

it('gives up after a while, or at an error, where the reader is in a hurry', async () => {
  jest.useFakeTimers();
  const { questions, lag } = heldLog();
  const late = lag.readSoon();
  await jest.advanceTimersByTimeAsync(1_999);
  const failing = lag.readSoon();
  await jest.advanceTimersByTimeAsync(1);
  expect(await late).toBeUndefined();
  questions[0].answer(4);
  await jest.advanceTimersByTimeAsync(0);
  questions[1].fail(new Error('away'));
  expect(await failing).toBeUndefined();
  const soon = lag.readSoon();
  await jest.advanceTimersByTimeAsync(0);
  questions[2].answer(5);
  expect(await soon).toBe(5);
  expect(jest.getTimerCount()).toBe(0);
});
