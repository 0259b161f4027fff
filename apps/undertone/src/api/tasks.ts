import { type CountsDocument } from '@undertone/protocol';

import { type PlatformClient } from './platform-client';

/** The counts once every accepted report has been through ingest. */
export async function settledCounts(
  api: PlatformClient,
  task: string,
  signal: AbortSignal,
): Promise<CountsDocument> {
  for (;;) {
    const counts = await api.get<CountsDocument>(`/v1/tasks/${task}/counts`, signal);
    if (counts.waiting === 0) return counts;
    await new Promise((r) => setTimeout(r, 100));
  }
}

/** All reports of a record of counts, such as those rejected. */
export const total = (counts: Partial<Record<string, number>>): number =>
  Object.values(counts).reduce<number>((s, n) => s + (n ?? 0), 0);
