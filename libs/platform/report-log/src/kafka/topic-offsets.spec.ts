import fc from 'fast-check';

import { discardConsumed, lagBehind, type OffsetsAdmin } from './topic-offsets';

interface Partition {
  /** Offsets of what is left, and when each was appended. */
  entries: { offset: number; at: number }[];
  next: number;
  position: number | undefined;
}

const HOUR = 3_600_000;

/** A topic as a list of entries; `beforeLook` runs before each answer, as other clients' work does. */
function fakeAdmin(partitions: Partition[], beforeLook: () => void = () => undefined): OffsetsAdmin {
  const first = (p: Partition): number => p.entries[0]?.offset ?? p.next;
  return {
    fetchTopicOffsets: async () => {
      beforeLook();
      return partitions.map((p, partition) => ({
        partition,
        offset: `${p.next}`,
        high: `${p.next}`,
        low: `${first(p)}`,
      }));
    },
    fetchTopicOffsetsByTimestamp: async (_, timestamp = 0) =>
      partitions.map((p, partition) => ({
        partition,
        offset: `${p.entries.find((e) => e.at >= timestamp)?.offset ?? p.next}`,
      })),
    deleteTopicRecords: async ({ partitions: until }) => {
      for (const { partition, offset } of until) {
        expect(Number(offset)).toBeLessThanOrEqual(partitions[partition].next);
        partitions[partition].entries = partitions[partition].entries.filter(
          (e) => e.offset >= Number(offset),
        );
      }
    },
  };
}

const filled = (count: number, position?: number, ageMs = 0): Partition => ({
  entries: Array.from({ length: count }, (_, offset) => ({ offset, at: Date.now() - ageMs })),
  next: count,
  position,
});

const positionsIn = (partitions: Partition[]) => ({
  positionOf: async (partition: number) => {
    const { position } = partitions[partition];
    return position === undefined ? undefined : BigInt(position);
  },
});

describe('lagBehind', () => {
  const lag = (partitions: Partition[]) => lagBehind(fakeAdmin(partitions), 'topic', positionsIn(partitions));

  it('counts what comes after the position, everything where there is none', async () => {
    expect(await lag([filled(10, 3), filled(5), filled(7, 6), filled(0)])).toBe(6 + 5);
  });

  it('doesn’t count what is gone', async () => {
    const gone = filled(10, 2);
    gone.entries = gone.entries.slice(6);
    expect(await lag([gone])).toBe(4);
  });

  it('counts all of a partition that ends before the position: none of it is read', async () => {
    expect(await lag([filled(4, 7)])).toBe(4);
  });

  it('is never wrong because entries arrive and are read while it counts', async () => {
    const partition = filled(10, 9);
    const busy = fakeAdmin([partition], () => {
      partition.entries.push({ offset: partition.next++, at: Date.now() });
    });
    const reading = {
      positionOf: async () => BigInt((partition.position = partition.next - 1)),
    };
    expect(await lagBehind(busy, 'topic', reading)).toBe(1);
  });
});

describe('discardConsumed', () => {
  const discard = (partitions: Partition[], limit: number, keepMs = 0) =>
    discardConsumed(fakeAdmin(partitions), 'topic', positionsIn(partitions), limit, keepMs);

  it('deletes the oldest that the consumer is past, at most so many', async () => {
    const partitions = [filled(10, 3), filled(10), filled(10, 9)];
    expect(await discard(partitions, 6)).toBe(6);
    expect(partitions.map((p) => p.entries.length)).toEqual([6, 10, 8]);
    expect(await discard(partitions, 100)).toBe(8);
    expect(await discard(partitions, 100)).toBe(0);
    expect(partitions.map((p) => p.entries.length)).toEqual([6, 10, 0]);
  });

  it('keeps what was appended lately', async () => {
    const partition = filled(10, 9, 2 * HOUR);
    for (const entry of partition.entries.slice(4)) entry.at = Date.now();
    expect(await discard([partition], 100, HOUR)).toBe(4);
    expect(partition.entries[0].offset).toBe(4);
  });

  it('deletes nothing of a partition that ends before the position: it isn’t the one that was read', async () => {
    expect(await discard([filled(4, 7)], 100)).toBe(0);
  });

  it('never deletes what the consumer hasn’t dealt with, nor more than the limit', async () => {
    const partition = fc
      .record({ count: fc.nat(20), gone: fc.nat(20), position: fc.option(fc.nat(25), { nil: undefined }) })
      .map(({ count, gone, position }) => {
        const made = filled(count, position);
        made.entries = made.entries.slice(gone);
        return made;
      });
    await fc.assert(
      fc.asyncProperty(fc.array(partition, { maxLength: 4 }), fc.nat(40), async (partitions, limit) => {
        const before = partitions.map((p) => [...p.entries]);
        const deleted = await discard(partitions, limit);
        const lost = before.map((entries, i) => entries.filter((e) => !partitions[i].entries.includes(e)));
        expect(deleted).toBe(lost.flat().length);
        expect(deleted).toBeLessThanOrEqual(limit);
        for (const [i, entries] of lost.entries()) {
          for (const entry of entries) expect(entry.offset).toBeLessThanOrEqual(partitions[i].position ?? -1);
        }
      }),
    );
  });
});
