import { PartitionReader } from './partition-reader';
import { type LogBatch, type LogEntry } from './report-log';

const entry = (offset: bigint): LogEntry => ({
  offset,
  value: new Uint8Array(),
  schema: undefined,
  appendedAt: new Date(0),
});

it('survives a read ahead that fails while a batch is being dealt with', async () => {
  const lost = Promise.reject<LogEntry[]>(new Error('the connection is lost'));
  // Node ends the process at a rejection that nobody listens to; Jest keeps that event from a spec.
  const listen = jest.spyOn(lost, 'then');
  const listenersWhileHandling: number[] = [];
  const log = [entry(0n), entry(1n)];
  const handled: bigint[] = [];
  let reads = 0;
  let allHandled: () => void = () => undefined;
  const done = new Promise<void>((resolve) => (allHandled = resolve));
  const reader = new PartitionReader(
    {
      name: 'test',
      positionOf: async () => handled.at(-1),
      handle: async ({ entries }: LogBatch) => {
        await new Promise((resolve) => setImmediate(resolve));
        listenersWhileHandling.push(listen.mock.calls.length);
        handled.push(...entries.map(({ offset }) => offset));
        if (handled.length === log.length) allHandled();
      },
    },
    {
      partition: 0,
      open: async () => ({
        read: (after, limit) => {
          reads++;
          if (reads === 2) return lost;
          return Promise.resolve(log.filter(({ offset }) => offset > (after ?? -1n)).slice(0, limit));
        },
        close: async () => undefined,
      }),
      maximumBatch: 1,
      idleMs: [1, 1],
      retryMs: [1, 1],
      onFailure: () => undefined,
    },
  );
  try {
    await done;
    expect(handled).toEqual([0n, 1n]);
    expect(listenersWhileHandling[0]).toBe(1);
  } finally {
    await reader.stop();
  }
});
