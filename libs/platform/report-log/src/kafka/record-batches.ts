/** A record as kafkajs gives it to its consumers. */
export interface KafkaRecord {
  readonly magicByte: number;
  readonly attributes: number;
  /** Milliseconds since 1970. */
  readonly timestamp: string;
  readonly offset: string;
  /** Views of the bytes that were read, not copies; so are the headers' values. */
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** Neighbours with the same headers share them. */
  readonly headers: RecordHeaders;
  readonly isControlRecord: boolean;
  readonly batchContext: BatchContext;
}

type Headers = Record<string, Buffer | null | (Buffer | null)[]>;
/** Of a name that occurs several times, all values in their order. */
export type RecordHeaders = Readonly<Headers>;

/** What the records of one batch have in common. */
interface BatchContext {
  readonly firstOffset: string;
  readonly firstTimestamp: string;
  readonly partitionLeaderEpoch: number;
  readonly inTransaction: boolean;
  readonly isControlBatch: boolean;
  readonly lastOffsetDelta: number;
  readonly producerId: string;
  readonly producerEpoch: number;
  readonly firstSequence: number;
  readonly maxTimestamp: string;
  readonly timestampType: number;
  readonly magicByte: number;
}

// Places in a record batch, https://kafka.apache.org/documentation/#recordbatch.
const LENGTH = 8;
const LEADER_EPOCH = 12;
const MAGIC = 16;
const ATTRIBUTES = 21;
const LAST_OFFSET_DELTA = 23;
const FIRST_TIMESTAMP = 27;
const MAX_TIMESTAMP = 35;
const PRODUCER_ID = 43;
const PRODUCER_EPOCH = 51;
const FIRST_SEQUENCE = 53;
const COUNT = 57;
const RECORDS = 61;

const MAGIC_BYTE = 2;
const COMPRESSION = 0x07;
const STAMPED_BY_BROKER = 0x08;
const TRANSACTIONAL = 0x10;
const CONTROL = 0x20;

/**
 * The records of uncompressed batches in version 2 of the record format, as a broker sends them: a batch at the end that
 * is cut off is left out. Undefined where the bytes hold anything else, or numbers beyond 2⁵³.
 *
 * Kafkajs's own decoder gives the same records in several times the time.
 */
export function readRecordBatches(bytes: Buffer): KafkaRecord[] | undefined {
  const records: KafkaRecord[] = [];
  try {
    let at = 0;
    while (bytes.length - at >= RECORDS) {
      const end = at + LEADER_EPOCH + bytes.readInt32BE(at + LENGTH);
      if (end > bytes.length) break;
      readBatch(bytes, at, end, records);
      at = end;
    }
    return records;
  } catch (error) {
    if (error instanceof UnusualBytes) return undefined;
    throw error;
  }
}

function readBatch(bytes: Buffer, at: number, end: number, records: KafkaRecord[]): void {
  const attributes = bytes.readInt16BE(at + ATTRIBUTES);
  requireUsual(end >= at + RECORDS && bytes[at + MAGIC] === MAGIC_BYTE && (attributes & COMPRESSION) === 0);
  const firstOffset = integer(bytes.readBigInt64BE(at));
  const firstTimestamp = integer(bytes.readBigInt64BE(at + FIRST_TIMESTAMP));
  const maxTimestamp = bytes.readBigInt64BE(at + MAX_TIMESTAMP).toString();
  const isControlBatch = (attributes & CONTROL) !== 0;
  const timestampType = (attributes & STAMPED_BY_BROKER) === 0 ? 0 : 1;
  const batchContext: BatchContext = {
    firstOffset: String(firstOffset),
    firstTimestamp: String(firstTimestamp),
    partitionLeaderEpoch: bytes.readInt32BE(at + LEADER_EPOCH),
    inTransaction: (attributes & TRANSACTIONAL) !== 0,
    isControlBatch,
    lastOffsetDelta: bytes.readInt32BE(at + LAST_OFFSET_DELTA),
    producerId: bytes.readBigInt64BE(at + PRODUCER_ID).toString(),
    producerEpoch: bytes.readInt16BE(at + PRODUCER_EPOCH),
    firstSequence: bytes.readInt32BE(at + FIRST_SEQUENCE),
    maxTimestamp,
    timestampType,
    magicByte: MAGIC_BYTE,
  };
  const reader = new RecordReader(bytes, at + RECORDS, end);
  let lastDelta = 0;
  let timestamp = timestampType === 1 ? maxTimestamp : batchContext.firstTimestamp;
  for (let left = bytes.readInt32BE(at + COUNT); left > 0; left--) {
    const recordEnd = reader.begin();
    const recordAttributes = reader.int8();
    const timestampDelta = reader.varint();
    if (timestampDelta !== lastDelta && timestampType === 0) {
      lastDelta = timestampDelta;
      timestamp = String(firstTimestamp + timestampDelta);
    }
    const offset = String(firstOffset + reader.varint());
    const key = reader.bytes();
    const value = reader.bytes();
    records.push({
      magicByte: MAGIC_BYTE,
      attributes: recordAttributes,
      timestamp,
      offset,
      key,
      value,
      headers: reader.headers(recordEnd),
      isControlRecord: isControlBatch,
      batchContext,
    });
  }
}

class RecordReader {
  private lastHeaders: RecordHeaders = {};
  private headersFrom = 0;
  private headersTo = 0;

  constructor(
    private readonly buffer: Buffer,
    private at: number,
    private readonly end: number,
  ) {}

  /** Where the record that begins here ends. */
  begin(): number {
    const length = this.varint();
    return this.within(this.at + requireLength(length));
  }

  int8(): number {
    this.within(this.at + 1);
    return this.buffer.readInt8(this.at++);
  }

  /** Zigzag, of at most seven bytes: a record that takes more is none that Kafka's users make. */
  varint(): number {
    let byte = this.byte();
    let sum = byte & 0x7f;
    let factor = 1;
    while (byte >= 0x80) {
      factor *= 0x80;
      requireUsual(factor < 2 ** 49);
      byte = this.byte();
      sum += (byte & 0x7f) * factor;
    }
    return sum % 2 === 0 ? sum / 2 : -(sum + 1) / 2;
  }

  bytes(): Buffer | null {
    const length = this.varint();
    if (length === -1) return null;
    const from = this.at;
    this.at = this.within(from + requireLength(length));
    return this.buffer.subarray(from, this.at);
  }

  /** All that is left of a record. */
  headers(end: number): RecordHeaders {
    if (this.areLastHeaders(end)) {
      this.at = end;
      return this.lastHeaders;
    }
    const from = this.at;
    const headers = Object.create(null) as Headers;
    for (let left = requireLength(this.varint()); left > 0; left--) {
      const name = this.bytes();
      requireUsual(name !== null);
      addHeader(headers, name!.toString(), this.bytes());
    }
    requireUsual(this.at === end);
    this.headersFrom = from;
    this.headersTo = end;
    return (this.lastHeaders = headers);
  }

  private areLastHeaders(end: number): boolean {
    const { buffer, at, headersFrom, headersTo } = this;
    if (end - at !== headersTo - headersFrom) return false;
    for (let i = end - at - 1; i >= 0; i--) if (buffer[at + i] !== buffer[headersFrom + i]) return false;
    return true;
  }

  private byte(): number {
    this.within(this.at + 1);
    return this.buffer[this.at++];
  }

  private within(to: number): number {
    requireUsual(to <= this.end);
    return to;
  }
}

function addHeader(headers: Headers, name: string, value: Buffer | null): void {
  const known = headers[name];
  if (known === undefined) headers[name] = value;
  else headers[name] = Array.isArray(known) ? [...known, value] : [known, value];
}

class UnusualBytes extends Error {}

function requireUsual(condition: boolean): void {
  if (!condition) throw new UnusualBytes();
}

function requireLength(length: number): number {
  requireUsual(length >= 0);
  return length;
}

function integer(value: bigint): number {
  const number = Number(value);
  requireUsual(Number.isSafeInteger(number));
  return number;
}
