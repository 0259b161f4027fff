import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const LAUNCHER = path.resolve(__dirname, '../../../../tools/kafka-local/main.mjs');

describe('npm run kafka', () => {
  let cache: string;
  beforeEach(() => {
    cache = mkdtempSync(path.join(tmpdir(), 'kafka-launcher-'));
  });
  afterEach(() => rmSync(cache, { recursive: true, force: true }));

  /** On a machine that has nothing but Node. */
  function run(options: readonly string[]) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [LAUNCHER, ...options], {
      encoding: 'utf8',
      env: { PATH: cache, UNDERTONE_CACHE_DIR: cache },
    });
    return { status, stdout, stderr };
  }

  it.each([
    ['--brokers', '2', "2 brokers can't be started"],
    ['--brokers', 'three', '--brokers three: a whole number is wanted'],
    ['--port', '70000', 'port 70000 is no whole number from 1 to 65534'],
    ['--heap', '-1', "'--heap' argument is ambiguous"],
    ['--heap', '0', '--heap 0: a whole number is wanted'],
    ['--settings', 'retention', '--settings retention: key=value is wanted'],
    ['--tuned-for', 'speed', '--tuned-for speed: one of quick-start, throughput is wanted'],
    ['--folder', '/a,b', 'holds a comma'],
    ['--colour', 'red', "Unknown option '--colour'"],
  ])('refuses %s %s', (option, value, why) => {
    const { status, stderr } = run([option, value]);
    expect(stderr).toContain(why);
    expect(stderr).toContain('--help lists the options');
    expect(status).toBe(2);
  });

  it('says what to install on a machine without Java', () => {
    const { status, stdout } = run(['--check']);
    const answer = JSON.parse(stdout);
    expect(answer.available).toBe(false);
    expect(answer.why).toContain('needs Java 17 or later, and there is none in JAVA_HOME or on PATH');
    expect(answer.why).toContain('apt-get install');
    expect(status).toBe(3);
  });

  it('tells a program so in its own words', () => {
    const { status, stdout } = run(['--json']);
    expect(JSON.parse(stdout).unavailable).toContain('needs Java 17');
    expect(status).toBe(3);
  });
});
