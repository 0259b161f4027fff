import { gzipSync } from 'node:zlib';

import fc from 'fast-check';
import Decoder from 'kafkajs/src/protocol/decoder';
import decodeMessages from 'kafkajs/src/protocol/requests/fetch/v4/decodeMessages';

import { int32, type PlainBatch, recordBatchBytes } from '../../testing/record-batch-bytes';
import { readRecordBatches } from './record-batches';

const byKafkajs = (bytes: Buffer): Promise<unknown[]> =>
  decodeMessages(new Decoder(Buffer.concat([int32(bytes.length), bytes])));

const HOUR = 3_600_000;
const CONTROL = 0x20;
const SEEN = BigInt(Date.UTC(2026, 10));

const bytes = fc.uint8Array({ maxLength: 200 }).map((some) => Buffer.from(some));
const perhaps = fc.option(bytes, { nil: null });
// Kafkajs takes these for headers that it has seen.
const name = fc.string({ maxLength: 12 }).filter((some) => !(some in {}));
const record = fc.record({
  attributes: fc.integer({ min: -128, max: 127 }),
  timestampDelta: fc.bigInt({ min: -BigInt(HOUR), max: 2n ** 40n }),
  offsetDelta: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  key: perhaps,
  value: perhaps,
  headers: fc.oneof(
    fc.constant([['schema', Buffer.from('some.schema.v1')]] as const),
    fc.array(fc.tuple(fc.oneof(fc.constant('schema'), name), perhaps), { maxLength: 4 }),
  ),
});
const batch: fc.Arbitrary<PlainBatch> = fc.record({
  firstOffset: fc.bigInt({ min: 0n, max: 2n ** 52n }),
  leaderEpoch: fc.integer({ min: -1, max: 2 ** 31 - 1 }),
  attributes: fc.constantFrom(0, 0x08, 0x10, CONTROL, 0x18, 0x38),
  firstTimestamp: fc.bigInt({ min: 0n, max: 2n * SEEN }),
  maxTimestamp: fc.bigInt({ min: -1n, max: 2n ** 63n - 1n }),
  producerId: fc.bigInt({ min: -1n, max: 2n ** 63n - 1n }),
  producerEpoch: fc.integer({ min: -1, max: 2 ** 15 - 1 }),
  firstSequence: fc.integer({ min: -1, max: 2 ** 31 - 1 }),
  records: fc.array(record, { maxLength: 6 }),
});

const three: PlainBatch = {
  firstOffset: 500n,
  firstTimestamp: SEEN,
  records: [
    { offsetDelta: 0, key: Buffer.from('k'), value: Buffer.from('first') },
    { offsetDelta: 1, timestampDelta: 7n, headers: [['schema', Buffer.from('s')]] },
    { offsetDelta: 2, timestampDelta: 7n, headers: [['schema', Buffer.from('s')]] },
  ],
};

it('reads a batch that was written by hand from Kafka’s description', () => {
  const hex = `
    0000000000000102 00000040 00000003 02 00000000 0010 00000001 0000000000000400 0000000000000402 0000000000000005
    0006 00000007 00000001
    1c 00 04 02 02 6b 04 7631 02 02 61 04 6263`;
  expect(readRecordBatches(Buffer.from(hex.replace(/\s/g, ''), 'hex'))).toEqual([
    {
      magicByte: 2,
      attributes: 0,
      timestamp: '1026',
      offset: '259',
      key: Buffer.from('k'),
      value: Buffer.from('v1'),
      headers: { a: Buffer.from('bc') },
      isControlRecord: false,
      batchContext: {
        firstOffset: '258',
        firstTimestamp: '1024',
        partitionLeaderEpoch: 3,
        inTransaction: true,
        isControlBatch: false,
        lastOffsetDelta: 1,
        producerId: '5',
        producerEpoch: 6,
        firstSequence: 7,
        maxTimestamp: '1026',
        timestampType: 0,
        magicByte: 2,
      },
    },
  ]);
});

it('reads all batches as kafkajs’s own decoder does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(batch, { maxLength: 3 }), async (batches) => {
      const all = Buffer.concat(batches.map(recordBatchBytes));
      expect(readRecordBatches(all)).toEqual(await byKafkajs(all));
    }),
    { numRuns: 300 },
  );
});

it('leaves out a batch that is cut off, wherever', async () => {
  const whole = recordBatchBytes(three);
  const two = Buffer.concat([whole, recordBatchBytes({ ...three, firstOffset: 503n })]);
  for (let end = 0; end < two.length; end++) {
    const cut = two.subarray(0, end);
    expect(readRecordBatches(cut)?.map(({ offset }) => offset)).toEqual(
      end < whole.length ? [] : ['500', '501', '502'],
    );
    if (end > 17) expect(readRecordBatches(cut)).toEqual(await byKafkajs(cut));
  }
});

it('keeps headers apart that have names like those of every object', () => {
  const headers = ['__proto__', 'constructor', 'schema'].map((name) => [name, Buffer.from(name)] as const);
  const [read] = readRecordBatches(recordBatchBytes({ ...three, records: [{ offsetDelta: 0, headers }] }))!;
  expect(Object.entries(read.headers)).toEqual(headers.map(([name, value]) => [name, value]));
});

it.each<[string, PlainBatch]>([
  ['compressed batches', { ...three, attributes: 1, packed: (records) => gzipSync(records) }],
  ['an older format', { ...three, magic: 1 }],
  ['a newer format', { ...three, magic: 3 }],
  ['offsets beyond 2⁵³', { ...three, firstOffset: 2n ** 53n }],
  ['times beyond 2⁵³', { ...three, firstTimestamp: 2n ** 60n }],
  [
    'a time far from that of its batch',
    { ...three, records: [{ offsetDelta: 0, timestampDelta: 2n ** 60n }] },
  ],
])('does not read %s', (_, batch) => {
  const good = recordBatchBytes(three);
  const bytes = recordBatchBytes(batch);
  expect(readRecordBatches(bytes)).toBeUndefined();
  expect(readRecordBatches(Buffer.concat([good, bytes]))).toBeUndefined();
});

const RECORDS = 61;

it('never reads beyond a record, a batch or the bytes, whatever they hold', () => {
  const good = recordBatchBytes(three);
  const following = Buffer.alloc(300, 2);
  const damage = fc.array(fc.tuple(fc.nat(good.length - RECORDS - 1), fc.nat(255)), {
    minLength: 1,
    maxLength: 4,
  });
  let refused = 0;
  fc.assert(
    fc.property(damage, (places) => {
      const damaged = Buffer.from(good);
      for (const [place, byte] of places) damaged[RECORDS + place] = byte;
      const read = readRecordBatches(Buffer.concat([damaged, following]).subarray(0, damaged.length));
      if (read === undefined) return void refused++;
      const holds = read.reduce((sum, { key, value }) => sum + (key?.length ?? 0) + (value?.length ?? 0), 0);
      expect(read).toHaveLength(3);
      expect(holds).toBeLessThan(good.length - RECORDS);
    }),
    { numRuns: 2_000 },
  );
  expect(refused).toBeGreaterThan(500);
});

it('does not set room aside for records that a batch only claims to have', () => {
  const bytes = recordBatchBytes(three);
  bytes.writeInt32BE(2 ** 31 - 1, 57);
  expect(readRecordBatches(bytes)).toBeUndefined();
});
