import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { DatasetError } from '../dataset-error';

/**
 * The bytes of a regular file.
 *
 * @throws DatasetError `missing-file`, or `unreadable-file` with the system's reason
 */
export function readDataFile(path: string): Uint8Array {
  let descriptor: number | undefined;
  try {
    // Opening a FIFO would wait for its writer.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!fstatSync(descriptor).isFile())
      throw new DatasetError('unreadable-file', `${path}: it isn't a regular file`);
    return readFileSync(descriptor);
  } catch (error) {
    throw asDatasetError(error, path);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** What the file system said about `path`, as a DatasetError. */
export function asDatasetError(error: unknown, path: string): DatasetError {
  if (error instanceof DatasetError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR'
    ? new DatasetError('missing-file', `${path}: there is no such file`)
    : new DatasetError('unreadable-file', `${path}: it can't be read (${code ?? message})`);
}
