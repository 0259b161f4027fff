import { encode } from 'cbor2/encoder';
import { type Report } from './report';

/*
 * A report has one shape, so its canonical bytes (RFC 8949 §4.2.1) are written and read straight down, keys in
 * their canonical order. A general codec takes ten to a hundred times as long, on a path that the gateway walks for
 * each report; the spec holds the two to the same bytes and the same values.
 */
const key = (name: string) => encode(name, { cde: true });
const FIELD = { id: key('id'), task: key('task'), payload: key('payload'), artifact: key('artifact') };
const REPORTS = key('reports');

const BYTES = 2;
const TEXT = 3;
const ARRAY = 4;
const MAP = 5;

class Writer {
  readonly bytes: Uint8Array;
  #at = 0;

  constructor(size: number) {
    this.bytes = new Uint8Array(size);
  }

  /** Major type and length in shortest form. */
  head(major: number, length: number): this {
    const type = major << 5;
    if (length < 24) this.bytes[this.#at++] = type | length;
    else if (length < 0x100) this.raw([type | 24, length]);
    else if (length < 0x10000) this.raw([type | 25, length >> 8, length & 0xff]);
    else this.raw([type | 26, length >>> 24, (length >> 16) & 0xff, (length >> 8) & 0xff, length & 0xff]);
    return this;
  }

  raw(bytes: ArrayLike<number>): this {
    this.bytes.set(bytes, this.#at);
    this.#at += bytes.length;
    return this;
  }

  byteString(bytes: Uint8Array): this {
    return this.head(BYTES, bytes.length).raw(bytes);
  }

  /** ASCII only, as the schema of a report has it. */
  text(text: string): this {
    this.head(TEXT, text.length);
    for (let i = 0; i < text.length; i++) this.bytes[this.#at++] = text.charCodeAt(i);
    return this;
  }
}

const headSize = (length: number) => (length < 24 ? 1 : length < 0x100 ? 2 : length < 0x10000 ? 3 : 5);
const FIELD_BYTES = Object.values(FIELD).reduce((sum, bytes) => sum + bytes.length, 1);

/** Canonical CBOR of one report, which must be valid. */
export function writeReport({ id, task, payload, artifact }: Report): Uint8Array {
  const contents = [id, task, payload, artifact].reduce((sum, c) => sum + headSize(c.length) + c.length, 0);
  return new Writer(FIELD_BYTES + contents)
    .head(MAP, 4)
    .raw(FIELD.id)
    .byteString(id)
    .raw(FIELD.task)
    .text(task)
    .raw(FIELD.payload)
    .byteString(payload)
    .raw(FIELD.artifact)
    .text(artifact).bytes;
}

/** Canonical CBOR of `{ reports }` around reports that are encoded already. */
export function writeBatch(encoded: readonly Uint8Array[]): Uint8Array {
  const content = encoded.reduce((sum, bytes) => sum + bytes.length, 0);
  const writer = new Writer(1 + REPORTS.length + headSize(encoded.length) + content);
  writer.head(MAP, 1).raw(REPORTS).head(ARRAY, encoded.length);
  for (const bytes of encoded) writer.raw(bytes);
  return writer.bytes;
}

type Fields = Record<keyof Report, unknown>;

/**
 * The fields of a report in the bytes that {@link writeReport} writes; undefined for any other bytes, which may
 * still be a report in another form. Values are as found: not validated.
 */
export function readCanonicalReport(bytes: Uint8Array): Fields | undefined {
  const scanner = new Scanner(bytes);
  const fields = scanReport(scanner);
  return scanner.atEnd ? fields : undefined;
}

/** The same for a whole body: one report, or what {@link writeBatch} writes, of 1 to `maximumBatch` reports. */
export function readCanonicalBody(bytes: Uint8Array, maximumBatch: number): Fields[] | undefined {
  const scanner = new Scanner(bytes);
  const isBatch = scanner.take(BATCH_START);
  const count = isBatch ? scanner.length(ARRAY) : 1;
  if (count === undefined || count < 1 || count > maximumBatch) return undefined;
  const reports: Fields[] = [];
  for (let i = 0; i < count; i++) {
    const fields = scanReport(scanner);
    if (!fields) return undefined;
    reports.push(fields);
  }
  return scanner.atEnd ? reports : undefined;
}

function scanReport(scanner: Scanner): Fields | undefined {
  if (!scanner.take(MAP_OF_4)) return undefined;
  const id = scanner.take(FIELD.id) && scanner.string(BYTES);
  const task = scanner.take(FIELD.task) && scanner.ascii();
  const payload = scanner.take(FIELD.payload) && scanner.string(BYTES);
  const artifact = scanner.take(FIELD.artifact) && scanner.ascii();
  return id && task && payload && artifact ? { id, task, payload, artifact } : undefined;
}

const MAP_OF_4 = Uint8Array.of((MAP << 5) | 4);
const BATCH_START = Uint8Array.of((MAP << 5) | 1, ...REPORTS);
const LONGEST_TEXT = 64;
const DECODER = new TextDecoder();
const REPLACED = '\ufffd';

class Scanner {
  #at = 0;

  constructor(readonly bytes: Uint8Array) {}

  get atEnd(): boolean {
    return this.#at === this.bytes.length;
  }

  /** Whether these very bytes come next; passes over them if so. */
  take(expected: Uint8Array): boolean {
    for (let i = 0; i < expected.length; i++) if (this.bytes[this.#at + i] !== expected[i]) return false;
    this.#at += expected.length;
    return true;
  }

  /** A head of this major type whose length is below 65,536 and in shortest form; undefined for anything else. */
  length(major: number): number | undefined {
    const first = this.bytes[this.#at];
    if (first >> 5 !== major) return undefined;
    const info = first & 31;
    const [second, third] = [this.bytes[this.#at + 1], this.bytes[this.#at + 2]];
    const length = info < 24 ? info : info === 24 ? second : info === 25 ? (second << 8) | third : NaN;
    const size = headSize(length);
    if (size !== (info < 24 ? 1 : info - 22)) return undefined;
    this.#at += size;
    return length;
  }

  /** Content of a string with such a head, as a view. */
  string(major: number): Uint8Array | undefined {
    const length = this.length(major);
    if (length === undefined || this.#at + length > this.bytes.length) return undefined;
    return this.bytes.subarray(this.#at, (this.#at += length));
  }

  ascii(): string | undefined {
    const content = this.string(TEXT);
    if (!content || content.length > LONGEST_TEXT) return undefined;
    const text = DECODER.decode(content);
    // One character a byte is ASCII, or a byte that is no text and was replaced.
    return text.length === content.length && !text.includes(REPLACED) ? text : undefined;
  }
}
