import { describeReportLog, eventually, record, RecordingConsumer } from '../../testing/report-log-contract';
import { MemoryReportLog } from './memory-report-log';

describeReportLog('memory', async () => {
  const settings = { onFailure: () => undefined };
  const store = new MemoryReportLog(settings);
  return { open: (wanted) => store.reopen(wanted), dispose: () => store.close() };
});

describe('memory log of several partitions', () => {
  it('keeps a key in one partition, in order, and uses them all', async () => {
    const log = new MemoryReportLog({ onFailure: () => undefined, partitions: 4, idleMs: [1, 5] });
    const consumer = new RecordingConsumer();
    const subscription = log.subscribe(consumer);
    for (let round = 0; round < 5; round++) {
      await log.append(Array.from({ length: 40 }, (_, key) => record(`${key}:${round}`, `${key}`)));
    }
    await eventually('200 entries', () => consumer.values.length === 200);
    await subscription.stop();
    const seen = new Map<string, { partition: number; rounds: string[] }>();
    for (const { partition, entries } of consumer.batches) {
      for (const entry of entries) {
        const [key, round] = Buffer.from(entry.value).toString().split(':');
        const of = seen.get(key) ?? { partition, rounds: [] };
        expect(of.partition).toBe(partition);
        of.rounds.push(round);
        seen.set(key, of);
      }
    }
    expect([...seen.values()].every(({ rounds }) => rounds.join() === '0,1,2,3,4')).toBe(true);
    expect(new Set([...seen.values()].map(({ partition }) => partition)).size).toBe(4);
    expect(await log.lag(consumer)).toBe(0);
  });
});
