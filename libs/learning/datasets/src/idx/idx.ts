import { gunzipSync } from 'node:zlib';
import { readDataFile } from '../files/data-file';
import { DatasetError } from '../dataset-error';

/** An array of unsigned bytes, row-major: `data.length` is the product of `shape`. */
export interface IdxArray {
  readonly shape: readonly number[];
  readonly data: Uint8Array;
}

const NUMBER_TYPES: Record<number, string> = {
  0x08: 'unsigned byte',
  0x09: 'signed byte',
  0x0b: '16-bit integer',
  0x0c: '32-bit integer',
  0x0d: '32-bit float',
  0x0e: '64-bit float',
};
const UNSIGNED_BYTE = 0x08;
const MAXIMUM_BYTES = 2 ** 30;

/**
 * Reads a file in MNIST's IDX format, gzipped or not: bytes 0, 0, number type, number of dimensions; each dimension as
 * a big-endian 32-bit integer; then the numbers.
 *
 * @throws DatasetError `missing-file`, `unreadable-file`, `damaged-file`, or `unsupported-file` for numbers other than
 *   unsigned bytes
 */
export function readIdx(path: string): IdxArray {
  return parseIdx(inflated(readDataFile(path), path), path);
}

function inflated(file: Uint8Array, path: string): Uint8Array {
  if (file[0] !== 0x1f || file[1] !== 0x8b) return file;
  try {
    return gunzipSync(file, { maxOutputLength: MAXIMUM_BYTES });
  } catch (error) {
    throw new DatasetError(
      'damaged-file',
      `${path}: its gzip stream is damaged (${(error as Error).message})`,
    );
  }
}

function parseIdx(file: Uint8Array, path: string): IdxArray {
  const damaged = (what: string) => new DatasetError('damaged-file', `${path}: ${what}`);
  if (file.length < 4) throw damaged(`it has ${file.length} bytes, fewer than an IDX header`);
  const [zero, alsoZero, type, dimensions] = file;
  if (zero !== 0 || alsoZero !== 0 || !(type in NUMBER_TYPES) || dimensions === 0)
    throw damaged(`it isn't IDX: the first four bytes are ${hex(file.subarray(0, 4))}`);
  if (type !== UNSIGNED_BYTE)
    throw new DatasetError(
      'unsupported-file',
      `${path}: it holds numbers of type ${NUMBER_TYPES[type]}; only unsigned bytes are read`,
    );
  const start = 4 + 4 * dimensions;
  if (file.length < start) throw damaged(`it ends within its header: ${file.length} of ${start} bytes`);
  const header = new DataView(file.buffer, file.byteOffset, start);
  const shape = Array.from({ length: dimensions }, (_, i) => header.getUint32(4 + 4 * i));
  const expected = start + shape.reduce((product, size) => product * size, 1);
  if (file.length < expected)
    throw damaged(
      `it is cut short: ${shape.join(' × ')} bytes need ${expected} with the header, it has ${file.length}`,
    );
  if (file.length > expected)
    throw damaged(`it has ${file.length - expected} bytes too many after its ${shape.join(' × ')} bytes`);
  return { shape, data: new Uint8Array(file.buffer, file.byteOffset + start, expected - start) };
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
}
