// npm run bench -- NAME: runs tools/bench/NAME.mjs and writes out/bench/NAME.json with a plot (SVG) beside it.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { alternate, measure } from './form/measurement.mjs';
import { plotRatios } from './form/plot.mjs';

const folder = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(folder, '..', '..');

/** Every other module of this folder is a benchmark; what one starts or shares lies in a folder. */
const known = () =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.mjs') && name !== 'run.mjs')
    .map((name) => name.slice(0, -'.mjs'.length));

async function main([name, ...rest]) {
  if (!name || rest.length > 0 || !known().includes(name)) {
    console.error(`usage: npm run bench -- NAME, where NAME is one of: ${known().join(', ')}`);
    return 2;
  }
  const { run } = await import(pathToFileURL(path.join(folder, `${name}.mjs`)).href);
  const log = (line) => console.log(`  ${line}`);
  console.log(`bench ${name}`);
  const rows = await run({
    root,
    log,
    alternate: (work) => alternate(work, log),
    measure: (work) => measure(work, log),
  });
  if (rows.length === 0) {
    console.error('nothing could be measured');
    return 1;
  }
  const result = { name, machine: machine(), commit: commit(), rows };
  const out = path.join(root, 'out', 'bench');
  mkdirSync(out, { recursive: true });
  writeWhole(path.join(out, `${name}.json`), `${JSON.stringify(result, null, 2)}\n`);
  writeWhole(path.join(out, `${name}.svg`), plotRatios(result));
  console.log(`written: ${path.relative(process.cwd(), path.join(out, `${name}.json`))} and .svg`);
  return 0;
}

function machine() {
  const processors = os.cpus();
  const gibibytes = Math.round(os.totalmem() / 2 ** 30);
  const model = processors[0]?.model.trim() ?? 'unknown processor';
  return `${processors.length} × ${model}, ${gibibytes} GiB, ${os.platform()} ${os.arch()}, Node ${process.versions.node}`;
}

function commit() {
  if (!existsSync(path.join(root, '.git'))) return 'unknown';
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  return git('rev-parse', 'HEAD') + (git('status', '--porcelain', '--untracked-files=no') ? '-changed' : '');
}

function writeWhole(file, text) {
  writeFileSync(`${file}.unfinished`, text);
  renameSync(`${file}.unfinished`, file);
}

process.exitCode = await main(process.argv.slice(2));
