// Compiles every package's src/**/*.ts (without specs) to its dist/ with swc; unchanged files are left alone.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

export function packageFolders() {
  return ['apps', 'libs/client', 'libs/learning', 'libs/platform']
    .map((d) => path.join(root, d))
    .filter((d) => existsSync(d))
    .flatMap((d) => readdirSync(d).map((n) => path.join(d, n)))
    .filter((d) => existsSync(path.join(d, 'package.json')));
}

const filesUnder = (folder, keep) =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((e) => e.isFile() && keep(e.name))
        .map((e) => path.join(e.parentPath ?? e.path, e.name))
    : [];

const isSource = (name) => name.endsWith('.ts') && !name.endsWith('.spec.ts') && !name.endsWith('.d.ts');

export async function build() {
  const { transformFile } = await import('@swc/core');
  const options = JSON.parse(readFileSync(path.join(root, '.swcrc'), 'utf8'));
  const configTime = statSync(path.join(root, '.swcrc')).mtimeMs;
  const jobs = [];
  for (const folder of packageFolders()) {
    const wanted = new Set();
    for (const file of filesUnder(path.join(folder, 'src'), isSource)) {
      const target = path
        .join(folder, 'dist', path.relative(path.join(folder, 'src'), file))
        .replace(/\.ts$/, '.js');
      wanted.add(target);
      const newest = Math.max(statSync(file).mtimeMs, configTime);
      if (!existsSync(target) || statSync(target).mtimeMs < newest) jobs.push({ file, target });
    }
    for (const old of filesUnder(path.join(folder, 'dist'), (n) => n.endsWith('.js'))) {
      if (!wanted.has(old)) rmSync(old);
    }
  }
  await Promise.all(
    jobs.map(async ({ file, target }) => {
      const { code, map } = await transformFile(file, { ...options, swcrc: false, sourceFileName: file });
      mkdirSync(path.dirname(target), { recursive: true });
      writeFileSync(`${target}.map`, map);
      writeFileSync(target, `${code}\n//# sourceMappingURL=${path.basename(target)}.map\n`);
    }),
  );
  return jobs.length;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const n = await build();
  console.log(`${n} file(s) compiled`);
}
