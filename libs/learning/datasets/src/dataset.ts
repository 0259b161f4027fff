import type { ImageSchema } from '@undertone/artifact';
import { DatasetError } from './dataset-error';

/** The pieces of a {@link Dataset}; `pixels` is `[rows, dimension]`, row-major. */
export interface DatasetParts {
  readonly name: string;
  readonly schema: ImageSchema;
  readonly pixels: Uint8Array;
  readonly labels: readonly string[];
  /** `[rows]`, indices into `labels`; absent for a data set without labels. */
  readonly labelIndices?: Uint8Array;
  /** `[rows]`: where each row stands in its source. */
  readonly sourceRows: Uint32Array;
}

/** Rows held as the bytes of their file; they become numbers when asked for. */
export class Dataset {
  /** Says in words what this is, for lineage: source, part, selection. */
  readonly name: string;
  readonly schema: ImageSchema;
  readonly rows: number;
  /** Numbers in one row. */
  readonly dimension: number;
  /** Name of each label index; empty for a data set without labels. */
  readonly labels: readonly string[];

  readonly #pixels: Uint8Array;
  readonly #labelIndices?: Uint8Array;
  readonly #sourceRows: Uint32Array;

  constructor(parts: DatasetParts) {
    const { height, width, channels } = parts.schema;
    this.name = parts.name;
    this.schema = parts.schema;
    this.rows = parts.sourceRows.length;
    this.dimension = height * width * channels;
    this.labels = parts.labels;
    this.#pixels = parts.pixels;
    this.#labelIndices = parts.labelIndices;
    this.#sourceRows = parts.sourceRows;
  }

  /** Row `i` as it is in the file, `[dimension]`, a view: what a device would have. */
  raw(i: number): Uint8Array {
    this.#check(i);
    return this.#pixels.subarray(i * this.dimension, (i + 1) * this.dimension);
  }

  /** Row `i` in [0, 1], `[dimension]`: what `vectorise` of the artifact makes of `raw(i)`. */
  vector(i: number): Float32Array {
    return Float32Array.from(this.raw(i), (value) => value / this.schema.maximum);
  }

  /** Index into `labels` of row `i`. @throws DatasetError `no-labels` or `no-such-row` */
  label(i: number): number {
    this.#check(i);
    if (!this.#labelIndices) throw new DatasetError('no-labels', `${this.name}: it has no labels`);
    return this.#labelIndices[i];
  }

  /** Where row `i` stands in its source. */
  sourceRow(i: number): number {
    this.#check(i);
    return this.#sourceRows[i];
  }

  /** All rows in [0, 1], `[rows, dimension]` row-major: four times the memory of the bytes. */
  matrix(): Float32Array {
    const scaled = Float32Array.from({ length: this.schema.maximum + 1 }, (_, v) => v / this.schema.maximum);
    const matrix = new Float32Array(this.#pixels.length);
    for (let i = 0; i < matrix.length; i++) matrix[i] = scaled[this.#pixels[i]];
    return matrix;
  }

  #check(i: number): void {
    if (!Number.isInteger(i) || i < 0 || i >= this.rows)
      throw new DatasetError('no-such-row', `${this.name}: row ${i} isn't one of 0 to ${this.rows - 1}`);
  }
}
