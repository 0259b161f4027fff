/** A batch of Kafka's record format as plain values, to write bytes of every kind that brokers can send. */
export interface PlainBatch {
  readonly firstOffset: bigint;
  readonly leaderEpoch?: number;
  readonly magic?: number;
  readonly attributes?: number;
  readonly firstTimestamp?: bigint;
  readonly maxTimestamp?: bigint;
  readonly producerId?: bigint;
  readonly producerEpoch?: number;
  readonly firstSequence?: number;
  readonly records: readonly PlainRecord[];
  /** What is done to the records' bytes, compression for one. */
  readonly packed?: (records: Buffer) => Buffer;
}

export interface PlainRecord {
  readonly attributes?: number;
  readonly timestampDelta?: bigint;
  readonly offsetDelta: number;
  readonly key?: Buffer | null;
  readonly value?: Buffer | null;
  readonly headers?: readonly (readonly [name: string, value: Buffer | null])[];
}

/** As https://kafka.apache.org/documentation/#recordbatch has it, byte after byte; without a checksum. */
export function recordBatchBytes(batch: PlainBatch): Buffer {
  const records = Buffer.concat(batch.records.map(recordBytes));
  const afterLength = Buffer.concat([
    int32(batch.leaderEpoch ?? 0),
    Buffer.from([batch.magic ?? 2]),
    int32(0),
    int16(batch.attributes ?? 0),
    int32(batch.records.at(-1)?.offsetDelta ?? 0),
    int64(batch.firstTimestamp ?? 0n),
    int64(batch.maxTimestamp ?? 0n),
    int64(batch.producerId ?? -1n),
    int16(batch.producerEpoch ?? -1),
    int32(batch.firstSequence ?? -1),
    int32(batch.records.length),
    batch.packed?.(records) ?? records,
  ]);
  return Buffer.concat([int64(batch.firstOffset), int32(afterLength.length), afterLength]);
}

function recordBytes(record: PlainRecord): Buffer {
  const headers = record.headers ?? [];
  const body = Buffer.concat([
    Buffer.from([record.attributes ?? 0]),
    varint(record.timestampDelta ?? 0n),
    varint(BigInt(record.offsetDelta)),
    field(record.key ?? null),
    field(record.value ?? null),
    varint(BigInt(headers.length)),
    ...headers.flatMap(([name, value]) => [field(Buffer.from(name)), field(value)]),
  ]);
  return Buffer.concat([varint(BigInt(body.length)), body]);
}

function field(bytes: Buffer | null): Buffer {
  return bytes === null ? varint(-1n) : Buffer.concat([varint(BigInt(bytes.length)), bytes]);
}

/** Zigzag, seven bits a byte, the lowest first. */
export function varint(value: bigint): Buffer {
  let left = value >= 0n ? 2n * value : -2n * value - 1n;
  const bytes: number[] = [];
  for (; left >= 128n; left /= 128n) bytes.push(Number(left % 128n) + 128);
  return Buffer.from([...bytes, Number(left)]);
}

export const int16 = (value: number): Buffer => written(2, (bytes) => bytes.writeInt16BE(value));
export const int32 = (value: number): Buffer => written(4, (bytes) => bytes.writeInt32BE(value));
export const int64 = (value: bigint): Buffer => written(8, (bytes) => bytes.writeBigInt64BE(value));

function written(length: number, write: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.alloc(length);
  write(bytes);
  return bytes;
}
