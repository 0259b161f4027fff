// Plants imports against the one-way rules in files that don't exist, and fails unless lint refuses each: a guard of the guard.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { ESLint } from 'eslint';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

const planted = [
  ['libs/client/ldp', '@undertone/store', '@nx/enforce-module-boundaries'],
  ['libs/client/ldp', '@undertone/artifact', '@nx/enforce-module-boundaries'],
  ['libs/client/sdk', '@undertone/engine', '@nx/enforce-module-boundaries'],
  ['libs/client/sdk', 'node:fs', 'no-restricted-imports'],
  ['libs/client/sdk', '@undertone/ldp/testing', 'no-restricted-syntax'],
  ['libs/learning/engine', '@undertone/store', '@nx/enforce-module-boundaries'],
  ['libs/learning/classification', '@undertone/collection-gateway', '@nx/enforce-module-boundaries'],
  ['libs/platform/store', '@undertone/engine', '@nx/enforce-module-boundaries'],
  ['libs/platform/report-log', '@undertone/jobs', '@nx/enforce-module-boundaries'],
  // One that is allowed: a rule that refuses everything proves nothing.
  ['libs/learning/representation', '@undertone/ldp', undefined],
];

const eslint = new ESLint({ cwd: root });
const wrong = [];
for (const [folder, imported, rule] of planted) {
  const filePath = path.join(root, folder, 'src', 'planted-import.ts');
  const [{ messages }] = await eslint.lintText(`import { x } from '${imported}';\nexport const y = x;\n`, {
    filePath,
  });
  const refusedBy = messages.map((m) => m.ruleId);
  if (rule === undefined ? refusedBy.length > 0 : !refusedBy.includes(rule)) {
    wrong.push(
      `${folder} imports ${imported}: expected ${rule ?? 'no complaint'}, lint said ${refusedBy.join(', ') || 'nothing'}`,
    );
  }
}
for (const line of wrong) console.error(line);
process.exit(wrong.length > 0 ? 1 : 0);
