import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

const require = createRequire(import.meta.url);

/** A library of ours, built: `load('client', 'protocol')`. */
export const load = (layer, room) => require(path.join(root, 'libs', layer, room, 'dist', 'index.js'));
