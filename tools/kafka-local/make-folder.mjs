import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';

/** One level after the other: Node's `recursive` answers ENOENT for a file system that can only be read. */
export function makeFolder(folder) {
  if (existsSync(folder)) return;
  makeFolder(path.dirname(folder));
  mkdirSync(folder);
}
