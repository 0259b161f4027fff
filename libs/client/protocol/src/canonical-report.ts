import { encode } from 'cbor2/encoder';
import { LIMITS, REPORT_ID_BYTES } from './limits';
import { type Report, TEXT_RULES } from './report';

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

/** A report as it stands in canonical bytes. */
export interface CanonicalReport {
  /** Of the right types; valid where `isValid` says so. */
  readonly fields: Report;
  /** Whether the fields keep to the schema of a report. */
  readonly isValid: boolean;
  /** The very bytes, as a view. */
  readonly encoded: Uint8Array;
}

/**
 * The report in the bytes that {@link writeReport} writes; undefined for any other bytes, which may still be a report
 * in another form.
 */
export function readCanonicalReport(bytes: Uint8Array): CanonicalReport | undefined {
  const scanner = new Scanner(bytes);
  const report = scanReport(scanner);
  return scanner.atEnd ? report : undefined;
}

/** The same for a whole body: one report, or what {@link writeBatch} writes, of 1 to `maximumBatch` reports. */
export function readCanonicalBody(bytes: Uint8Array, maximumBatch: number): CanonicalReport[] | undefined {
  const scanner = new Scanner(bytes);
  const isBatch = scanner.take(BATCH_START);
  const count = isBatch ? scanner.length(ARRAY) : 1;
  if (count === undefined || count < 1 || count > maximumBatch) return undefined;
  const reports: CanonicalReport[] = [];
  for (let i = 0; i < count; i++) {
    const report = scanReport(scanner);
    if (!report) return undefined;
    reports.push(report);
  }
  return scanner.atEnd ? reports : undefined;
}

function scanReport(scanner: Scanner): CanonicalReport | undefined {
  const start = scanner.at;
  if (!scanner.take(MAP_OF_4)) return undefined;
  const id = scanner.take(FIELD.id) && scanner.string(BYTES);
  const hasTask = id && scanner.take(FIELD.task) && scanner.text(TASK);
  if (!hasTask) return undefined;
  const { value: task, isValid: isTask } = TASK;
  const payload = scanner.take(FIELD.payload) && scanner.string(BYTES);
  const hasArtifact = payload && scanner.take(FIELD.artifact) && scanner.text(ARTIFACT);
  if (!hasArtifact) return undefined;
  const { value: artifact, isValid: isArtifact } = ARTIFACT;
  const isValid =
    isTask &&
    isArtifact &&
    id.length === REPORT_ID_BYTES &&
    payload.length >= 1 &&
    payload.length <= LIMITS.maximumPayloadBytes;
  return new ScannedReport({ id, task, payload, artifact }, isValid, scanner.bytes, start, scanner.at);
}

/** A view costs as much as the scan of a field, and the ingest asks for none of a whole report. */
class ScannedReport implements CanonicalReport {
  constructor(
    readonly fields: Report,
    readonly isValid: boolean,
    private readonly body: Uint8Array,
    private readonly start: number,
    private readonly end: number,
  ) {}

  get encoded(): Uint8Array {
    return this.body.subarray(this.start, this.end);
  }
}

const MAP_OF_4 = Uint8Array.of((MAP << 5) | 4);
const BATCH_START = Uint8Array.of((MAP << 5) | 1, ...REPORTS);
const LONGEST_TEXT = 64;
const DECODER = new TextDecoder();
const REPLACED = '\ufffd';

/** A text that report after report repeats: decoded and checked again only where it changes. */
class RepeatedText {
  value = '';
  isValid = false;
  readonly #bytes = new Uint8Array(LONGEST_TEXT);
  #length = -1;

  constructor(private readonly rule: RegExp) {}

  /** Whether these bytes are ASCII text; `value` and `isValid` are theirs if so. */
  take(bytes: Uint8Array, start: number, length: number): boolean {
    return this.#isHere(bytes, start, length) || this.#read(bytes.subarray(start, start + length));
  }

  #isHere(bytes: Uint8Array, start: number, length: number): boolean {
    if (length !== this.#length) return false;
    for (let i = 0; i < length; i++) if (bytes[start + i] !== this.#bytes[i]) return false;
    return true;
  }

  #read(content: Uint8Array): boolean {
    const text = DECODER.decode(content);
    // One character a byte is ASCII, or a byte that is no text and was replaced.
    if (text.length !== content.length || text.includes(REPLACED)) return false;
    this.value = text;
    this.isValid = this.rule.test(text);
    this.#bytes.set(content);
    this.#length = content.length;
    return true;
  }
}

const TASK = new RepeatedText(TEXT_RULES.task);
const ARTIFACT = new RepeatedText(TEXT_RULES.artifact);

class Scanner {
  #at = 0;

  constructor(readonly bytes: Uint8Array) {}

  get at(): number {
    return this.#at;
  }

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
    const second = this.bytes[this.#at + 1];
    const length =
      info < 24 ? info : info === 24 ? second : info === 25 ? (second << 8) | this.bytes[this.#at + 2] : NaN;
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

  /** Whether an ASCII text of at most 64 bytes comes next; passes over it if so. */
  text(into: RepeatedText): boolean {
    const length = this.length(TEXT);
    if (length === undefined || length > LONGEST_TEXT || this.#at + length > this.bytes.length) return false;
    if (!into.take(this.bytes, this.#at, length)) return false;
    this.#at += length;
    return true;
  }
}
