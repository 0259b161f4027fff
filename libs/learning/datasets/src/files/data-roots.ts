import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { DatasetError } from '../dataset-error';
import { asDatasetError } from './data-file';

/**
 * The real path of `wanted`, an absolute path or one relative to a root (the first root that has it). It must lie
 * within a root both as written and after every symbolic link is followed; what is outside is never looked at.
 *
 * @throws DatasetError `outside-roots`, `missing-file` or `unreadable-file`
 */
export function resolveWithinRoots(wanted: string, roots: readonly string[]): string {
  const folders = roots.map((root) => path.resolve(root));
  const candidates = (
    path.isAbsolute(wanted) ? [path.resolve(wanted)] : folders.map((f) => path.resolve(f, wanted))
  ).filter((candidate) => folders.some((folder) => isWithin(candidate, folder)));
  if (candidates.length === 0) throw outside(wanted, roots);
  const found = candidates.find((candidate) => existsSync(candidate)) ?? candidates[0];
  const real = realPath(found, wanted);
  if (!folders.some((folder) => existsSync(folder) && isWithin(real, realpathSync(folder))))
    throw outside(wanted, roots);
  return real;
}

function realPath(file: string, wanted: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    throw asDatasetError(error, wanted);
  }
}

function isWithin(file: string, folder: string): boolean {
  const relative = path.relative(folder, file);
  return (
    relative !== '' &&
    relative !== '..' &&
    !relative.startsWith(`..${path.sep}`) &&
    !path.isAbsolute(relative)
  );
}

function outside(wanted: string, roots: readonly string[]): DatasetError {
  const where =
    roots.length === 0
      ? 'no data folder is configured: name its folder in UNDERTONE_DATA_ROOTS'
      : `the data folders are ${roots.join(', ')}: move it there, or name its folder in UNDERTONE_DATA_ROOTS`;
  return new DatasetError('outside-roots', `${wanted}: it must lie within a data folder; ${where}`);
}
