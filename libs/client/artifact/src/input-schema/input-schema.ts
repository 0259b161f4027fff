import { InputError } from './input-error';

/** Pixels `[height, width, channels]`, row-major, from 0 to `maximum`; the encoder sees them in [0, 1]. */
export interface ImageSchema {
  readonly kind: 'image';
  readonly height: number;
  readonly width: number;
  readonly channels: number;
  readonly maximum: number;
}

/** `mean` and `deviation` (above 0) are of D1, and public with the artifact; the encoder sees (v − mean)/deviation. */
export interface NumericColumn {
  readonly name: string;
  readonly kind: 'numeric';
  readonly mean: number;
  readonly deviation: number;
}

/** The encoder sees a one-hot group of `levels.length` numbers. */
export interface CategoricalColumn {
  readonly name: string;
  readonly kind: 'categorical';
  readonly levels: readonly string[];
}

export type Column = NumericColumn | CategoricalColumn;

export interface TableSchema {
  readonly kind: 'table';
  readonly columns: readonly Column[];
}

/** What a raw record looks like and how it becomes the encoder's input. */
export type InputSchema = ImageSchema | TableSchema;

/** Pixels of an image, or the values of a table's row by column name; `null` is a missing value. */
export type RawRecord = ArrayLike<number> | Readonly<Record<string, string | number | null>>;

/** A stretch `[offset, offset + size)` of the encoder's input and the likelihood that fits it in a decoder. */
export interface DecoderHead {
  readonly kind: 'bernoulli' | 'gaussian' | 'categorical';
  readonly offset: number;
  readonly size: number;
}

/** The length of the encoder's input. */
export function inputDimension(schema: InputSchema): number {
  if (schema.kind === 'image') return schema.height * schema.width * schema.channels;
  return schema.columns.reduce((sum, column) => sum + width(column), 0);
}

/**
 * The encoder's input `[inputDimension(schema)]` of a record. A missing value is the column's mean, or no level at all.
 *
 * @throws InputError naming the pixel or column, its value and the rule.
 */
export function vectorise(schema: InputSchema, record: RawRecord): Float32Array {
  return schema.kind === 'image' ? pixels(schema, record) : row(schema, record);
}

/** In the order of the input and covering it: neighbouring numeric columns share a head. */
export function decoderHeads(schema: InputSchema): DecoderHead[] {
  if (schema.kind === 'image') return [{ kind: 'bernoulli', offset: 0, size: inputDimension(schema) }];
  const heads: DecoderHead[] = [];
  let offset = 0;
  for (const column of schema.columns) {
    const size = width(column);
    const last = heads[heads.length - 1];
    if (column.kind === 'numeric' && last?.kind === 'gaussian') {
      heads[heads.length - 1] = { ...last, size: last.size + 1 };
    } else {
      heads.push({ kind: column.kind === 'numeric' ? 'gaussian' : 'categorical', offset, size });
    }
    offset += size;
  }
  return heads;
}

function width(column: Column): number {
  return column.kind === 'numeric' ? 1 : column.levels.length;
}

function pixels(schema: ImageSchema, record: RawRecord): Float32Array {
  const dimension = inputDimension(schema);
  if (!isArrayLike(record)) {
    throw new InputError('wrong-type', `the record isn't an array: an image is ${dimension} numbers`);
  }
  if (record.length !== dimension) {
    const { height, width: w, channels } = schema;
    throw new InputError(
      'wrong-dimension',
      `the image has ${record.length} numbers: it must have ${dimension} (${height} × ${w} × ${channels})`,
    );
  }
  const vector = new Float32Array(dimension);
  for (let i = 0; i < dimension; i++) {
    const value = record[i];
    if (typeof value !== 'number' || !(value >= 0 && value <= schema.maximum)) {
      throw pixelError(i, value, schema.maximum);
    }
    vector[i] = value / schema.maximum;
  }
  return vector;
}

function pixelError(i: number, value: unknown, maximum: number): InputError {
  return typeof value !== 'number' || Number.isNaN(value)
    ? new InputError('not-a-number', `pixel ${i} is ${String(value)}: it must be a number`)
    : new InputError('out-of-range', `pixel ${i} is ${value}: it must lie from 0 to ${maximum}`);
}

function row(schema: TableSchema, record: RawRecord): Float32Array {
  if (isArrayLike(record) || record === null || typeof record !== 'object') {
    throw new InputError(
      'wrong-type',
      "the record isn't an object: a table's row is its values by column name",
    );
  }
  const known = new Set(schema.columns.map((column) => column.name));
  const stranger = Object.keys(record).find((name) => !known.has(name));
  if (stranger !== undefined) {
    throw new InputError('unknown-column', `column "${stranger}" isn't one of ${list([...known])}`);
  }
  const vector = new Float32Array(inputDimension(schema));
  let offset = 0;
  for (const column of schema.columns) {
    if (!Object.hasOwn(record, column.name)) {
      throw new InputError('missing-column', `column "${column.name}" is missing: give null for no value`);
    }
    const value = record[column.name];
    if (value !== null) {
      if (column.kind === 'numeric') vector[offset] = standardised(column, value);
      else vector[offset + levelIndex(column, value)] = 1;
    }
    offset += width(column);
  }
  return vector;
}

function standardised(column: NumericColumn, value: string | number): number {
  if (typeof value !== 'number' || Number.isNaN(value)) {
    throw new InputError('not-a-number', `column "${column.name}" is ${shown(value)}: it must be a number`);
  }
  const standard = Math.fround((value - column.mean) / column.deviation);
  if (!Number.isFinite(standard)) {
    throw new InputError(
      'out-of-range',
      `column "${column.name}" is ${value}: it is too large to standardise`,
    );
  }
  return standard;
}

function levelIndex(column: CategoricalColumn, value: string | number): number {
  const index = column.levels.indexOf(value as string);
  if (index < 0) {
    throw new InputError(
      'unknown-level',
      `column "${column.name}" is ${shown(value)}: it must be one of ${list(column.levels)}`,
    );
  }
  return index;
}

function isArrayLike(record: RawRecord): record is ArrayLike<number> {
  return Array.isArray(record) || ArrayBuffer.isView(record);
}

function shown(value: unknown): string {
  return typeof value === 'string' ? `"${value}"` : String(value);
}

function list(names: readonly string[]): string {
  const first = names.slice(0, 10).map((name) => `"${name}"`);
  return names.length > 10 ? `${first.join(', ')} and ${names.length - 10} more` : first.join(', ');
}
