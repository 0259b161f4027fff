import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The version of this build, as its package.json says it. */
export const version: string = (
  JSON.parse(readFileSync(path.join(__dirname, '..', 'package.json'), 'utf8')) as { version: string }
).version;
