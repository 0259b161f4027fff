import { MemoryReportLog } from '@undertone/report-log';

import { ReportSweeper } from './report-sweeper';

const records = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ key: Buffer.from('k'), value: Buffer.from(`${i}`) }));

const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1));
};

it('deletes what the ingest is past, in chunks, and nothing else', async () => {
  const log = new MemoryReportLog({ onFailure: () => undefined });
  await log.append(records(25));
  const chunks: number[] = [];
  const counting = {
    discard: async (...args: Parameters<typeof log.discard>) => {
      const discarded = await log.discard(...args);
      chunks.push(discarded);
      return discarded;
    },
  };
  const at = { positionOf: async () => 21n };
  const sweeper = new ReportSweeper(counting, at, { everyMs: 1e6, chunk: 10, onFailure: () => undefined });
  expect(await sweeper.sweep()).toBe(22);
  expect(chunks).toEqual([10, 10, 2]);
  expect(await log.lag(at)).toBe(3);
  expect(await sweeper.sweep()).toBe(0);
});

it('sweeps again and again, tells a failure and goes on', async () => {
  const swept: number[] = [];
  const failures: string[] = [];
  let calls = 0;
  const log = {
    discard: async () => {
      if (++calls === 2) throw new Error('away');
      return 1;
    },
  };
  const sweeper = new ReportSweeper(
    log,
    { positionOf: async () => 0n },
    {
      everyMs: 1,
      chunk: 10,
      onFailure: (error) => failures.push((error as Error).message),
      onSwept: (entries) => swept.push(entries),
    },
  );
  sweeper.start();
  await until(() => swept.length === 3);
  await sweeper.stop();
  expect(failures).toEqual(['away']);
  const callsThen = calls;
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(calls).toBe(callsThen);
});

it('stop waits for the sweep in flight', async () => {
  let finish = (): void => undefined;
  let began = false;
  const log = {
    discard: () =>
      new Promise<number>((resolve) => {
        began = true;
        finish = () => resolve(0);
      }),
  };
  const sweeper = new ReportSweeper(
    log,
    { positionOf: async () => 0n },
    {
      everyMs: 1,
      chunk: 10,
      onFailure: () => undefined,
    },
  );
  sweeper.start();
  await until(() => began);
  let stopped = false;
  const stopping = sweeper.stop().then(() => (stopped = true));
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(stopped).toBe(false);
  finish();
  await stopping;
});
