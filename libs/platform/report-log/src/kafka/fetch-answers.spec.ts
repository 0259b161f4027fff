import { gzipSync } from 'node:zlib';

import fc from 'fast-check';
import fetch from 'kafkajs/src/protocol/requests/fetch';
import response from 'kafkajs/src/protocol/requests/fetch/v11/response';

import { int16, int32, int64, type PlainBatch, recordBatchBytes } from '../../testing/record-batch-bytes';
import { readFetchAnswersFast } from './fetch-answers';

const byKafkajs = response.decode;
readFetchAnswersFast();

interface Partition {
  readonly partition: number;
  readonly errorCode: number;
  readonly offsets: readonly [highWatermark: bigint, lastStable: bigint, first: bigint];
  readonly aborted: readonly (readonly [producerId: bigint, firstOffset: bigint])[] | null;
  readonly preferredReplica: number;
  readonly messages: Buffer | null;
}

interface Answer {
  readonly throttleMs: number;
  readonly errorCode: number;
  readonly sessionId: number;
  readonly topics: readonly { readonly name: string; readonly partitions: readonly Partition[] }[];
}

/** As https://kafka.apache.org/protocol#The_Messages_Fetch has version 11. */
function answerBytes({ throttleMs, errorCode, sessionId, topics }: Answer): Buffer {
  const written = topics.map(({ name, partitions }) =>
    Buffer.concat([int16(name.length), Buffer.from(name), list(partitions.map(partitionBytes))]),
  );
  return Buffer.concat([int32(throttleMs), int16(errorCode), int32(sessionId), list(written)]);
}

function partitionBytes(answer: Partition): Buffer {
  const { partition, errorCode, offsets, aborted, preferredReplica, messages } = answer;
  return Buffer.concat([
    int32(partition),
    int16(errorCode),
    ...offsets.map(int64),
    list(aborted?.map(([producerId, firstOffset]) => Buffer.concat([int64(producerId), int64(firstOffset)]))),
    int32(preferredReplica),
    int32(messages?.length ?? -1),
    messages ?? Buffer.alloc(0),
  ]);
}

const list = (items: readonly Buffer[] | undefined): Buffer =>
  items === undefined ? int32(-1) : Buffer.concat([int32(items.length), ...items]);

const unhindered = { throttleMs: 0, errorCode: 0, sessionId: 0 };

const record = fc.record({
  offsetDelta: fc.integer({ min: 0, max: 1_000 }),
  key: fc.option(fc.uint8Array({ maxLength: 16 }).map(bufferOf), { nil: null }),
  value: fc.option(fc.uint8Array({ maxLength: 300 }).map(bufferOf), { nil: null }),
  headers: fc.constantFrom([], [['schema', Buffer.from('some.schema.v1')]] as const),
});
const batch: fc.Arbitrary<PlainBatch> = fc
  .record({
    firstOffset: fc.bigInt({ min: 0n, max: 2n ** 54n }),
    firstTimestamp: fc.bigInt({ min: 0n, max: 2n ** 42n }),
    attributes: fc.constantFrom(0, 0, 0, 1, 0x10, 0x30),
    records: fc.array(record, { minLength: 1, maxLength: 4 }),
  })
  .map((plain) => (plain.attributes === 1 ? { ...plain, packed: (bytes) => gzipSync(bytes) } : plain));
const messages = fc.oneof(
  fc.constantFrom(null, Buffer.alloc(0)),
  fc
    .tuple(fc.array(batch, { minLength: 1, maxLength: 3 }), fc.nat({ max: 100 }))
    .map(([batches, cut]) => Buffer.concat(batches.map(recordBatchBytes)).subarray(0, -cut || undefined))
    .filter((bytes) => bytes.length > 17),
);
const offset = fc.bigInt({ min: -1n, max: 2n ** 63n - 1n });
const partition: fc.Arbitrary<Partition> = fc.record({
  partition: fc.nat({ max: 100 }),
  errorCode: fc.constantFrom(0, 1, 6, -1),
  offsets: fc.tuple(offset, offset, offset),
  aborted: fc.option(fc.array(fc.tuple(offset, offset), { maxLength: 2 }), { nil: null }),
  preferredReplica: fc.integer({ min: -1, max: 5 }),
  messages,
});
const answer: fc.Arbitrary<Answer> = fc.record({
  throttleMs: fc.nat({ max: 10_000 }),
  errorCode: fc.constantFrom(0, 70),
  sessionId: fc.nat(),
  topics: fc.array(
    fc.record({
      name: fc.constantFrom('undertone.reports.v1', 'another'),
      partitions: fc.array(partition, { maxLength: 3 }),
    }),
    { maxLength: 2 },
  ),
});

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes);
}

it('reads all answers as kafkajs does', async () => {
  await fc.assert(
    fc.asyncProperty(answer, async (plain) => {
      const bytes = answerBytes(plain);
      expect(await response.decode(bytes)).toEqual(await byKafkajs(bytes));
    }),
    { numRuns: 300 },
  );
});

it('leaves a partition to kafkajs whose batches are compressed, and that one alone', async () => {
  const record = { value: Buffer.from('a value'), headers: [['schema', Buffer.from('s')]] } as const;
  const plain: PlainBatch = {
    firstOffset: 40n,
    records: [
      { offsetDelta: 0, ...record },
      { offsetDelta: 1, ...record },
    ],
  };
  const packed: PlainBatch = { ...plain, attributes: 1, packed: (records) => gzipSync(records) };
  const partitions = [packed, plain].map((batch, partition): Partition => ({
    partition,
    errorCode: 0,
    offsets: [42n, 42n, 0n],
    aborted: [],
    preferredReplica: -1,
    messages: recordBatchBytes(batch),
  }));
  const bytes = answerBytes({ ...unhindered, topics: [{ name: 'a', partitions }] });
  const { responses } = (await response.decode(bytes)) as {
    responses: { partitions: { messages: { value: Buffer; offset: string; headers: object }[] }[] }[];
  };
  const read = responses[0].partitions.map(({ messages }) => messages);
  for (const messages of read)
    expect(messages.map(({ value, offset }) => [value.toString(), offset])).toEqual([
      ['a value', '40'],
      ['a value', '41'],
    ]);
  // Headers are shared by our reading alone.
  expect(read.map(([first, second]) => first.headers === second.headers)).toEqual([false, true]);
});

it('fails as kafkajs does on an answer that ends too early', async () => {
  const bytes = answerBytes({ ...unhindered, topics: [{ name: 'a', partitions: [] }] });
  const tooShort = { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' };
  await expect(byKafkajs(bytes.subarray(0, -2))).rejects.toMatchObject(tooShort);
  await expect(response.decode(bytes.subarray(0, -2))).rejects.toMatchObject(tooShort);
});

it('is what kafkajs reads an answer of its newest version with', () => {
  expect(Math.max(...fetch.versions.map(Number))).toBe(11);
  const { response: used } = fetch.protocol({ version: 11 })({ topics: [], maxWaitTime: 200 });
  expect(used.decode).toBe(response.decode);
  expect(used.decode).not.toBe(byKafkajs);
});
