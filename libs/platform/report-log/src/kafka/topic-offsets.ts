import { type Admin } from 'kafkajs';

import { type LogPositions } from '../report-log';

/** What is used of a kafkajs admin client. */
export type OffsetsAdmin = Pick<
  Admin,
  'fetchTopicOffsets' | 'fetchTopicOffsetsByTimestamp' | 'deleteTopicRecords'
>;

interface PartitionOffsets {
  readonly partition: number;
  /** Offset of the oldest entry that is left. */
  readonly first: bigint;
  /** The offset that the next entry will get. */
  readonly next: bigint;
}

/**
 * Number of offsets after the consumer's position, over all partitions. Offsets that hold no entry, as the end of
 * a transaction, count as well. Of a partition that ends before the position all that it has counts: none of it
 * is being read (see `LogReplacedError`).
 */
export async function lagBehind(admin: OffsetsAdmin, topic: string, consumer: LogPositions): Promise<number> {
  let lag = 0;
  // The log is looked at last: what is read meanwhile can't make the consumer seem to be past its end.
  const positions = new Map<number, bigint | undefined>();
  for (const { partition } of await offsetsOf(admin, topic)) {
    positions.set(partition, await consumer.positionOf(partition));
  }
  for (const { partition, first, next } of await offsetsOf(admin, topic)) {
    const position = positions.get(partition);
    const after = position === undefined || position >= next ? 0n : position + 1n;
    lag += Number(next - larger(after, first));
  }
  return lag;
}

/**
 * Deletes at most `limit` of the oldest entries that the consumer is past and that were appended more than
 * `keepConsumedMs` ago, and resolves to how many. The brokers free the space a segment at a time.
 */
export async function discardConsumed(
  admin: OffsetsAdmin,
  topic: string,
  consumer: LogPositions,
  limit: number,
  keepConsumedMs: number,
): Promise<number> {
  const recent = await recentFrom(admin, topic, keepConsumedMs);
  const partitions: { partition: number; offset: string }[] = [];
  let left = BigInt(Math.max(0, limit));
  for (const { partition, first, next } of await offsetsOf(admin, topic)) {
    const position = await consumer.positionOf(partition);
    if (position === undefined || position >= next) continue;
    const before = smaller(smaller(position + 1n, recent?.get(partition) ?? next), first + left);
    if (before <= first) continue;
    partitions.push({ partition, offset: before.toString() });
    left -= before - first;
  }
  if (partitions.length > 0) await admin.deleteTopicRecords({ topic, partitions });
  return Math.max(0, limit) - Number(left);
}

/** By partition, the first offset that was appended within the time; undefined where the time is none. */
async function recentFrom(
  admin: OffsetsAdmin,
  topic: string,
  keepConsumedMs: number,
): Promise<Map<number, bigint> | undefined> {
  if (keepConsumedMs <= 0) return undefined;
  const found = await admin.fetchTopicOffsetsByTimestamp(topic, Date.now() - keepConsumedMs);
  return new Map(found.map(({ partition, offset }) => [partition, BigInt(offset)]));
}

async function offsetsOf(admin: OffsetsAdmin, topic: string): Promise<PartitionOffsets[]> {
  const offsets = await admin.fetchTopicOffsets(topic);
  return offsets.map(({ partition, low, high }) => ({ partition, first: BigInt(low), next: BigInt(high) }));
}

const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
