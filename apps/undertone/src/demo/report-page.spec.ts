import { PNG } from 'pngjs';

import { type DemoReport } from './demo-report';
import { escapeHtml, reportPage } from './report-page';

const image = Array.from({ length: 784 }, (_, i) => i % 256);
const report: DemoReport = {
  version: '9.9.9',
  size: 'quick',
  dataset: { name: 'MNIST', auxiliary: 1_500, devices: 4_500, test: 1_000, classes: 10 },
  engine: { backend: 'tensorflow', library: '4.22.0' },
  seed: 3,
  epsilon: { total: 8, features: 4, label: 4 },
  lambda: 0.5,
  claim: {
    kind: 'pure ε-local differential privacy',
    neighbouring: 'any two records',
    composition: 'basic',
    assumptions: ['a < b & "c"'],
    d1: 'public',
  },
  accuracy: {
    cleanInput: 0.8012,
    privateInput: 0.4321,
    ceilingPrivateInput: 0.8585,
    noPrivacy: 0.9,
    auxiliaryOnly: 0.1,
  },
  intervals: {
    cleanInput: { value: 0.8012, low: 0.79, high: 0.81 },
    privateInput: { value: 0.4321, low: 0.42, high: 0.44 },
  },
  reports: { devices: 4_500, accepted: 4_500, stored: 4_500, repeated: 100, rejected: 0, resent: 100 },
  seconds: { mechanism: 10, collection: 20, classifier: 5, total: 75 },
  artifact: { id: 'ab'.repeat(32), bytes: 1_000, signer: 'cd'.repeat(32) },
  classifier: { id: 'classifier-1' },
  task: { name: 'mnist-1' },
  samples: [
    {
      image,
      width: 28,
      height: 28,
      label: '7',
      reportedLabel: '1',
      representation: [0.5, -0.25],
      reportedRepresentation: [0.75, -3],
      reconstructionOfRepresentation: image,
      reconstructionOfReport: image,
      bytesSent: 9,
    },
  ],
};

describe('reportPage', () => {
  const page = reportPage(report);

  it('is self-contained: no script and nothing to fetch', () => {
    expect(page).not.toMatch(/<script|<link|@import|url\(|\ssrc="(?!data:)/);
    expect(page).not.toMatch(/https?:\/\//);
  });

  it('tells the figures that a newcomer looks for', () => {
    expect(page).toContain('80.1 %');
    expect(page).toContain('43.2 %');
    expect(page).toContain('ceiling 85.9 %');
    expect(page).toContain('4,500');
    expect(page).toContain('1 min 15 s');
    // k-RR at ε = 4 over ten labels keeps with e⁴/(e⁴+9).
    expect(page).toContain('probability 85.8 %');
    expect(page).toContain('flipped');
  });

  it('escapes what comes from outside', () => {
    expect(page).toContain('a &lt; b &amp; &quot;c&quot;');
    expect(escapeHtml(`<'>`)).toBe('&lt;&#39;&gt;');
  });

  it('embeds images that decode to the inverted grey values', () => {
    const [, data] = /src="data:image\/png;base64,([^"]+)"/.exec(page) as RegExpExecArray;
    const png = PNG.sync.read(Buffer.from(data, 'base64'));
    expect([png.width, png.height]).toEqual([28, 28]);
    expect([...png.data.subarray(0, 4)]).toEqual([255, 255, 255, 255]);
    expect(png.data[4 * 200]).toBe(255 - 200);
  });
});
