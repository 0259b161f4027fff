// Types, lint (with the one-way imports) and format; every part runs, and any failure fails the whole.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const parts = [
  // Lint skips the boundaries where no graph of the projects is cached.
  ['graph of the projects', ['node_modules/.bin/nx', 'show', 'projects', '--json']],
  ['types', ['node_modules/.bin/tsc', '-p', 'tsconfig.json']],
  ['types of the client libraries, without Node', ['node_modules/.bin/tsc', '-p', 'tsconfig.client.json']],
  ['lint', ['node_modules/.bin/eslint', '.', '--max-warnings=0']],
  ['boundaries refuse planted imports', ['tools/check-boundaries.mjs']],
  ['format', ['node_modules/.bin/prettier', '--check', '.', '--log-level=warn']],
];

const failed = [];
for (const [name, [tool, ...args]] of parts) {
  const start = Date.now();
  const run = spawnSync(process.execPath, [path.join(root, tool), ...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, NX_DAEMON: 'false' },
  });
  const ok = run.status === 0;
  console.log(`${ok ? '✓' : '✗'} ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
  if (!ok) failed.push(name);
}
if (failed.length > 0) {
  console.error(`check failed: ${failed.join(', ')}`);
  process.exit(1);
}
