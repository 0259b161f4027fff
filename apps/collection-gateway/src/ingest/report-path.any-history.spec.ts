import { memoryPath } from '../../test/memory-path';
import { playHistories } from '../../test/report-path';

it('in memory, each acknowledged report is stored once and each outcome counts once', async () => {
  await playHistories(async () => memoryPath(), { runs: 200 });
}, 60_000);
