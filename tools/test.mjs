// Runs every suite and ends with one line: N passed, N failed (and, when there are any, N skipped, each named above it).
//   node tools/test.mjs [jest arguments]     with arguments, Jest runs once with just those
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const folder = path.join(root, 'out', 'test');
mkdirSync(folder, { recursive: true });

// Suites against a broker and end-to-end suites start several processes: one after the other, with the machine to themselves.
const runs =
  process.argv.length > 2
    ? [process.argv.slice(2)]
    : [
        ['--selectProjects', 'unit', 'postgres', '--maxWorkers=2'],
        ['--selectProjects', 'kafka', '--runInBand'],
        ['--selectProjects', 'e2e', '--runInBand'],
      ];

/** A suite that this machine can't run has the reason in its name: then the reason, once for the file, else the test. */
function skipLine(file, name) {
  const reason = /\[skipped: (.*?)\]/.exec(name)?.[1];
  return `${file}: ${reason ?? name}`;
}

const totals = { passed: 0, failed: 0, skipped: 0 };
const skipped = new Map();
let broken = false;
runs.forEach((args, i) => {
  const outputFile = path.join(folder, `results-${i}.json`);
  rmSync(outputFile, { force: true });
  const jest = spawnSync(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      path.join(root, 'node_modules', 'jest', 'bin', 'jest.js'),
      '--ci',
      '--json',
      `--outputFile=${outputFile}`,
      ...args,
    ],
    { cwd: root, stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, TF_CPP_MIN_LOG_LEVEL: '3' } },
  );
  if (!existsSync(outputFile)) {
    console.error(`Jest left no result (exit code ${jest.status ?? jest.signal})`);
    broken = true;
    return;
  }
  const results = JSON.parse(readFileSync(outputFile, 'utf8'));
  totals.passed += results.numPassedTests;
  // A suite that can't even be loaded has no failed test of its own.
  totals.failed += results.numFailedTests + results.numRuntimeErrorTestSuites;
  totals.skipped += results.numPendingTests + results.numTodoTests;
  for (const suite of results.testResults) {
    for (const test of suite.assertionResults) {
      if (test.status !== 'pending' && test.status !== 'todo') continue;
      const line = skipLine(path.relative(root, suite.name), test.fullName);
      skipped.set(line, (skipped.get(line) ?? 0) + 1);
    }
  }
  if (jest.status !== 0 && results.success) broken = true;
});

for (const [line, count] of skipped) console.log(`skipped: ${line}${count > 1 ? ` (${count} tests)` : ''}`);
if (broken) totals.failed += 1;
console.log(
  `${totals.passed} passed, ${totals.failed} failed${totals.skipped > 0 ? `, ${totals.skipped} skipped` : ''}`,
);
process.exit(totals.failed > 0 || totals.passed === 0 ? 1 : 0);
