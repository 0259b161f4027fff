import { encode } from 'cbor2/encoder';
import { type Report } from './report';

/*
 * A report has one shape, so its canonical bytes (RFC 8949 §4.2.1) are written straight down, keys in their
 * canonical order. A general encoder takes some 50 times as long, on a path that the gateway walks for each
 * report; the spec holds the two to the same bytes.
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
