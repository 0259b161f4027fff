import { createHash } from 'node:crypto';

const MAGIC = Buffer.from('UTMODEL\0', 'latin1');
const VERSION = 1;
const PREFIX_BYTES = MAGIC.length + 8;
const DIGEST_BYTES = 32;

export type ModelFileErrorCode = 'damaged' | 'future-version' | 'wrong-kind';

/** A model file that can't be read; `code` says why and stays the same over releases. */
export class ModelFileError extends Error {
  override readonly name = 'ModelFileError';

  constructor(
    readonly code: ModelFileErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/** Plain data that JSON carries without loss. */
export type Plain = null | boolean | number | string | readonly Plain[] | { readonly [key: string]: Plain };

/** What a model file holds: a header of plain data and named arrays of numbers. */
export interface ModelFile<Header> {
  header: Header;
  arrays: Record<string, Float32Array | Float64Array>;
}

interface StoredHeader {
  kind: string;
  arrays: { name: string; type: 'float32' | 'float64'; length: number }[];
  header: unknown;
}

/** JSON with the keys of every object in order, so that equal data has equal bytes. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value)
      .filter(([, v]) => v !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => `${JSON.stringify(k)}:${canonicalJson(v)}`);
    return `{${entries.join(',')}}`;
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new RangeError(`a model file's header can't hold ${value}: only finite numbers survive JSON`);
  }
  return JSON.stringify(value) ?? 'null';
}

const digestOf = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

/**
 * Writes a model file: magic, version and header length (uint32, little-endian), canonical JSON header, the arrays in
 * the order of their names (little-endian), SHA-256 of all that. Equal content gives equal bytes on every machine.
 */
export function encodeModelFile(kind: string, file: ModelFile<unknown>): Uint8Array {
  const names = Object.keys(file.arrays).sort();
  const stored: StoredHeader = {
    kind,
    arrays: names.map((name) => {
      const data = file.arrays[name];
      return { name, type: data instanceof Float64Array ? 'float64' : 'float32', length: data.length };
    }),
    header: file.header,
  };
  const head = Buffer.from(canonicalJson(stored), 'utf8');
  const bodyBytes = names.reduce((sum, name) => sum + file.arrays[name].byteLength, 0);
  const bytes = new Uint8Array(PREFIX_BYTES + head.length + bodyBytes + DIGEST_BYTES);
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC, 0);
  view.setUint32(MAGIC.length, VERSION, true);
  view.setUint32(MAGIC.length + 4, head.length, true);
  bytes.set(head, PREFIX_BYTES);
  let at = PREFIX_BYTES + head.length;
  for (const name of names) {
    const data = file.arrays[name];
    for (const value of data) {
      if (data instanceof Float64Array) view.setFloat64(at, value, true);
      else view.setFloat32(at, value, true);
      at += data.BYTES_PER_ELEMENT;
    }
  }
  bytes.set(digestOf(bytes.subarray(0, at)), at);
  return bytes;
}

/**
 * Reads what `encodeModelFile` wrote.
 *
 * @throws ModelFileError `damaged` (cut short, changed, not a model file), `future-version`, `wrong-kind`.
 */
export function decodeModelFile<Header>(kind: string, bytes: Uint8Array): ModelFile<Header> {
  if (bytes.length < PREFIX_BYTES + DIGEST_BYTES || MAGIC.compare(bytes.subarray(0, MAGIC.length)) !== 0) {
    throw new ModelFileError('damaged', `not a model file: ${bytes.length} bytes without the expected start`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint32(MAGIC.length, true);
  if (version > VERSION) {
    throw new ModelFileError(
      'future-version',
      `model file of format ${version}; this program reads up to ${VERSION}: use a newer one`,
    );
  }
  const end = bytes.length - DIGEST_BYTES;
  if (digestOf(bytes.subarray(0, end)).compare(bytes.subarray(end)) !== 0) {
    throw new ModelFileError('damaged', 'model file is damaged: its SHA-256 does not match its content');
  }
  const headBytes = view.getUint32(MAGIC.length + 4, true);
  const head = Buffer.from(bytes.subarray(PREFIX_BYTES, PREFIX_BYTES + headBytes)).toString('utf8');
  const stored = JSON.parse(head) as StoredHeader;
  if (stored.kind !== kind) {
    throw new ModelFileError('wrong-kind', `model file holds a ${stored.kind}, not a ${kind}`);
  }
  const arrays: ModelFile<Header>['arrays'] = {};
  let at = PREFIX_BYTES + headBytes;
  for (const { name, type, length } of stored.arrays) {
    const data = type === 'float64' ? new Float64Array(length) : new Float32Array(length);
    for (let i = 0; i < length; i++, at += data.BYTES_PER_ELEMENT) {
      data[i] = type === 'float64' ? view.getFloat64(at, true) : view.getFloat32(at, true);
    }
    arrays[name] = data;
  }
  return { header: stored.header as Header, arrays };
}
