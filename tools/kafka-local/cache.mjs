import { readdirSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { aboutWriting } from './kafka-local-error.mjs';
import { makeFolder } from './make-folder.mjs';

/** Where everything lies that is fetched once for a user: UNDERTONE_CACHE_DIR, else ~/.cache/undertone. */
export const cacheFolder = () =>
  process.env.UNDERTONE_CACHE_DIR || path.join(os.homedir(), '.cache', 'undertone');

/** Makes the cache's folder, and removes what earlier runs left unfinished more than a day ago. */
export function openCache() {
  const folder = cacheFolder();
  try {
    makeFolder(folder);
    for (const name of readdirSync(folder)) {
      const entry = path.join(folder, name);
      if (name.startsWith('unfinished-kafka-') && Date.now() - statSync(entry).mtimeMs > 86_400_000) {
        rmSync(entry, { recursive: true, force: true });
      }
    }
  } catch (error) {
    throw aboutCache(error);
  }
  return folder;
}

/** As aboutWriting, for the cache. */
export const aboutCache = (error) =>
  aboutWriting(error, cacheFolder(), 'set UNDERTONE_CACHE_DIR to another folder');
