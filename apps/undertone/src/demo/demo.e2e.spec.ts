import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { undertone } from '../../test/undertone-process';
import { type DemoReport } from './demo-report';

describe('undertone demo --quick', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'undertone-demo-'));
  // PostgreSQL doesn't run as root, and its account must be able to enter.
  chmodSync(folder, 0o755);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('runs the whole life cycle and reports it', async () => {
    const out = path.join(folder, 'out');
    const {
      code,
      err,
      out: said,
    } = await undertone(['demo', '--quick', '--json', '--home', path.join(folder, 'home'), '--out', out]);
    expect({ code, err }).toEqual({ code: 0, err: '' });

    const report = JSON.parse(readFileSync(path.join(out, 'report.json'), 'utf8')) as DemoReport;
    // The whole document went through the pipe, longer than a pipe holds at once.
    expect(said.length).toBeGreaterThan(65_536);
    expect(JSON.parse(said)).toEqual(report);
    expect(report.epsilon).toEqual({ total: 8, features: 4, label: 4 });
    expect(report.reports).toEqual({
      devices: 4500,
      accepted: 4500,
      stored: 4500,
      repeated: 100,
      rejected: 0,
      resent: 100,
    });
    // Chance is 0.1; the ceiling is e⁴/(e⁴+9).
    expect(report.accuracy.cleanInput).toBeGreaterThan(0.4);
    expect(report.accuracy.cleanInput).toBeLessThanOrEqual(1);
    expect(report.accuracy.ceilingPrivateInput).toBeCloseTo(Math.exp(4) / (Math.exp(4) + 9), 12);
    expect(report.accuracy.privateInput).toBeGreaterThan(0.12);
    expect(report.accuracy.privateInput).toBeLessThan(report.accuracy.ceilingPrivateInput);
    expect(report.accuracy.noPrivacy).toBeGreaterThan(report.accuracy.cleanInput - 0.05);
    expect(report.artifact.id).toMatch(/^[0-9a-f]{64}$/);
    expect(report.samples).toHaveLength(6);
    for (const sample of report.samples) {
      const norm = sample.representation.reduce((s, v) => s + Math.abs(v), 0);
      expect(norm).toBeLessThanOrEqual(1);
      expect(sample.reportedRepresentation).not.toEqual(sample.representation);
    }
    const { mechanism, collection, classifier, total } = report.seconds;
    expect(total).toBeGreaterThan(mechanism + collection + classifier);
    expect(existsSync(path.join(out, 'report.html'))).toBe(true);
  }, 240_000);

  it.each([
    ['home', '/dev/null/home', 'never'],
    ['out', 'never-home', '/dev/null/out'],
  ])(
    'tells a folder for its %s that it cannot write to, before the work',
    async (_, home, out) => {
      const { code, err } = await undertone([
        ...['demo', '--quick', '--home', path.resolve(folder, home)],
        ...['--out', path.resolve(folder, out)],
      ]);
      expect(code).toBe(1);
      expect(err).toContain('/dev/null/');
      expect(existsSync(path.join(folder, 'never', 'report.json'))).toBe(false);
    },
    60_000,
  );
});
