import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type ReportRecord, reportsDeleted } from '@undertone/store';
import { type SnapshotRequest, snapshotReports } from './report-snapshot';

describe('snapshotReports', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), 'undertone-snapshot-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const report = (...payload: number[]): ReportRecord => ({
    id: new Uint8Array(16),
    payload: Uint8Array.from(payload),
    receivedAt: new Date(0),
  });
  const request = (
    batches: ReportRecord[][],
    changes: Partial<SnapshotRequest> = {},
  ): SnapshotRequest & { asked: unknown[] } => {
    const asked: unknown[] = [];
    return {
      asked,
      reports: {
        async *read(task, options) {
          asked.push([task, options]);
          yield* batches;
        },
      },
      task: 'digits',
      upTo: new Date('2026-01-01T00:00:00Z'),
      payloadBytes: 2,
      minimumBatch: 1,
      file: path.join(folder, 'payloads.bin'),
      ...changes,
    };
  };

  it('writes the payloads, batch after batch, and nothing else', async () => {
    const asked = request([[report(1, 2), report(3, 4)], [report(5, 6)]]);
    expect(await snapshotReports(asked)).toBe(3);
    expect([...readFileSync(asked.file)]).toEqual([1, 2, 3, 4, 5, 6]);
    expect(readdirSync(folder)).toEqual(['payloads.bin']);
    expect(asked.asked).toEqual([['digits', { upTo: new Date('2026-01-01T00:00:00Z') }]]);
  });

  it('keeps the snapshot of an earlier attempt', async () => {
    await snapshotReports(request([[report(1, 2)]]));
    const again = request([[report(9, 9), report(8, 8)]]);
    expect(await snapshotReports(again)).toBe(1);
    expect([...readFileSync(again.file)]).toEqual([1, 2]);
    expect(again.asked).toEqual([]);
  });

  it.each([
    [[], /has 0 reports and nothing is fitted on fewer than 1,000/],
    [[[report(1, 2)]], /has 1 report and nothing is fitted on fewer than 1,000/],
  ])('refuses fewer reports than the minimum batch, and keeps none', async (batches, message) => {
    const asked = request(batches, { minimumBatch: 1_000 });
    await expect(snapshotReports(asked)).rejects.toThrow(message);
    await expect(snapshotReports(asked)).rejects.toMatchObject({ code: 'too-few-reports' });
    expect(existsSync(asked.file)).toBe(false);
  });

  it('keeps nothing of reports that are deleted while they are read', async () => {
    const asked = request([]);
    asked.reports.read = async function* () {
      yield [report(1, 2)];
      throw reportsDeleted('digits', new Date('2026-02-01T00:00:00Z'));
    };
    await expect(snapshotReports(asked)).rejects.toMatchObject({
      name: 'JobError',
      code: 'reports-deleted',
      message: expect.stringContaining('"digits" were deleted on 2026-02-01'),
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('leaves no half snapshot behind a payload that can not be', async () => {
    const asked = request([[report(1, 2)], [report(3)]]);
    await expect(snapshotReports(asked)).rejects.toThrow(/has 1 bytes and its mechanism's reports have 2/);
    expect(readdirSync(folder)).toEqual([]);
  });
});
