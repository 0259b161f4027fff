// Writes .env.example from the variables that libs/platform/config knows.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
await build();
const { renderEnvExample } = createRequire(import.meta.url)(
  path.join(root, 'libs', 'platform', 'config', 'dist', 'index.js'),
);
writeFileSync(path.join(root, '.env.example'), renderEnvExample());
