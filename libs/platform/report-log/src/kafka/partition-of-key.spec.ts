import fc from 'fast-check';
import { Partitioners } from 'kafkajs';

import { partitionOfKey } from './partition-of-key';

const kafkajsPartition = (key: Uint8Array, partitions: number): number =>
  Partitioners.DefaultPartitioner()({
    topic: 'any',
    partitionMetadata: Array.from({ length: partitions }, (_, partitionId) => ({
      partitionErrorCode: 0,
      partitionId,
      leader: 1,
      replicas: [1],
      isr: [1],
    })),
    message: { key: Buffer.from(key), value: null },
  });

// From Apache Kafka's UtilsTest.testMurmur2.
const MURMUR2: [string, number][] = [
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
  ['abc', 479470107],
];

it.each(MURMUR2)('hashes %s as the Java client does', (key, hash) => {
  expect(partitionOfKey(Buffer.from(key), 2 ** 31)).toBe(hash & 0x7fffffff);
});

it('gives every key the partition that kafkajs’s default partitioner gives it', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.integer({ min: 1, max: 64 }), (key, partitions) => {
      expect(partitionOfKey(key, partitions)).toBe(kafkajsPartition(key, partitions));
    }),
    { numRuns: 1000 },
  );
});
