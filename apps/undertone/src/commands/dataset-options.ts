import { type DatasetSpec } from '@undertone/datasets';
import { InvalidArgumentError, Option } from 'commander';

import { parseCount, parseSeed } from '../command-context';

export interface DatasetOptions {
  data: string;
  labels?: string;
  part?: 'train' | 'test';
  offset?: number;
  rows?: number;
  splitSeed?: number;
}

/** The options by which every command names rows of a data file. */
export const datasetOptions = (): Option[] => [
  new Option('--data <name or file>', '"mnist", or an IDX file of images').default('mnist'),
  new Option('--labels <file>', 'IDX file of labels, with an image file'),
  new Option('--part <part>', 'part of mnist').choices(['train', 'test']).default('train'),
  new Option('--split-seed <seed>', 'shuffle rows with this seed before taking a slice').argParser(parseSeed),
  new Option('--offset <row>', 'first row of the slice').argParser((t) => parseSeed(t)),
  new Option('--rows <count>', 'number of rows of the slice').argParser(parseCount),
];

/** @throws InvalidArgumentError where a slice is named without its length. */
export function datasetOf(o: DatasetOptions): DatasetSpec {
  const sliced = o.offset !== undefined || o.splitSeed !== undefined;
  if (sliced && o.rows === undefined) {
    throw new InvalidArgumentError('--offset and --split-seed name a slice, and a slice needs --rows.');
  }
  const select =
    o.rows === undefined ? undefined : { seed: o.splitSeed ?? 0, offset: o.offset ?? 0, count: o.rows };
  return o.data === 'mnist'
    ? { source: 'mnist', part: o.part ?? 'train', select }
    : { source: 'idx', images: o.data, labels: o.labels, select };
}
