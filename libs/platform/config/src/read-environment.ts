import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { type Environment } from './load-config';

/** The process's variables over those of `.env` in a folder, where there is such a file. */
export function readEnvironment(folder: string = process.cwd()): Environment {
  let file: string;
  try {
    file = readFileSync(path.join(folder, '.env'), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return process.env;
    throw error;
  }
  return { ...(parseEnv(file) as Record<string, string>), ...process.env };
}
