// npm run bench -- NAME: runs tools/bench/NAME.mjs and writes out/bench/NAME.json with a plot (SVG) beside it.
//   --part PART (any number of times): only these of its rows, into out/bench/NAME-PART.json
//   --share 0.1: with a tenth of the work, for a first look
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

import { alternate, measure } from './form/measurement.mjs';
import { plotRatios } from './form/plot.mjs';

const folder = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(folder, '..', '..');

/** Every other module of this folder is a benchmark; what one starts or shares lies in a folder. */
const known = () =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.mjs') && name !== 'run.mjs')
    .map((name) => name.slice(0, -'.mjs'.length));

async function main(args) {
  const { positionals, parts, share } = readArguments(args);
  const [name] = positionals;
  if (positionals.length !== 1 || !known().includes(name)) {
    console.error(
      `usage: npm run bench -- NAME [--part PART] [--share 0.1], where NAME is one of: ${known().join(', ')}`,
    );
    return 2;
  }
  const { run, PARTS = [] } = await import(pathToFileURL(path.join(folder, `${name}.mjs`)).href);
  const unknown = parts.filter((part) => !PARTS.includes(part));
  if (unknown.length > 0) {
    console.error(`${name} has no part ${unknown.join(', ')}; it has ${PARTS.join(', ') || 'none'}`);
    return 2;
  }
  const log = (line) => console.log(`  ${line}`);
  console.log([`bench ${name}`, ...parts].join(', '));
  const rows = await run({
    root,
    log,
    share,
    parts: parts.length === 0 ? PARTS : parts,
    alternate: (work) => alternate(work, log),
    measure: (work) => measure(work, log),
  });
  if (rows.length === 0) {
    console.error('nothing could be measured');
    return 1;
  }
  const title = [name, ...parts].join('-');
  const result = { name: title, machine: machine(), commit: commit(), rows };
  const out = path.join(root, 'out', 'bench');
  mkdirSync(out, { recursive: true });
  writeWhole(path.join(out, `${title}.json`), `${JSON.stringify(result, null, 2)}\n`);
  writeWhole(path.join(out, `${title}.svg`), plotRatios(result));
  console.log(`written: ${path.relative(process.cwd(), path.join(out, `${title}.json`))} and .svg`);
  return 0;
}

function readArguments(args) {
  try {
    const { positionals, values } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        part: { type: 'string', multiple: true, default: [] },
        share: { type: 'string', default: '1' },
      },
    });
    const share = Number(values.share);
    if (!(share > 0 && share <= 1))
      throw new Error(`--share is ${values.share}: it must be above 0 and at most 1`);
    return { positionals, parts: values.part, share };
  } catch (error) {
    console.error(error.message);
    return { positionals: [] };
  }
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
