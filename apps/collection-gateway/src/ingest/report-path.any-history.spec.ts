import { MemoryReportLog } from '@undertone/report-log';
import fc from 'fast-check';

import { MemoryEntrySink } from '../../test/memory-entry-sink';
import { operations, type PathUnderTest, playHistory } from '../../test/report-path';

function memoryPath(): PathUnderTest {
  const settings = { idleMs: [1, 2], retryMs: [1, 4], maximumBatch: 5 } as const;
  const store = new MemoryReportLog({ ...settings, onFailure: () => undefined });
  const sink = new MemoryEntrySink();
  return {
    openLog: (onFailure) => store.reopen({ ...settings, onFailure }),
    openSink: () => sink,
    crashIngest: (point) => (sink.crash = point?.when),
    tables: async () => ({
      reports: Object.fromEntries(sink.reports),
      counts: Object.fromEntries(sink.counts),
      rejected: [...sink.rejected].sort(),
    }),
  };
}

it('in memory, each acknowledged report is stored once and each outcome counts once', async () => {
  await fc.assert(
    fc.asyncProperty(operations, (history) => playHistory(memoryPath(), history)),
    { numRuns: 100 },
  );
});
