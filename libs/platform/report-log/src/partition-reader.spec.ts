import { PartitionReader } from './partition-reader';

it('asks for a partition that another has at its own pace, whatever is appended meanwhile', async () => {
  let asked = 0;
  const reader = new PartitionReader(
    { name: 'consumer', positionOf: async () => undefined, handle: async () => undefined },
    {
      partition: 0,
      open: async () => {
        asked++;
        await new Promise((resolve) => setImmediate(resolve));
        return undefined;
      },
      maximumBatch: 1,
      idleMs: [1, 10_000],
      retryMs: [1, 1],
      onFailure: () => undefined,
    },
  );
  for (let i = 0; i < 5; i++) {
    reader.wake();
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await reader.stop();
  expect(asked).toBe(1);
});
