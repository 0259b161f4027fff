import { seenAsText } from './measurement.mjs';

const WIDTH = 760;
const COMPARED = 68;
const ALONE = 46;
const SEEN = 16;
const TOP = 62;
const LEFT = 24;
const RIGHT = 24;

/**
 * A plain SVG of a benchmark's ratios on a logarithmic axis: bars to the right of 1 where ours is better. It follows
 * the reader's light or dark colour scheme.
 *
 * @param {{ name: string, machine: string, rows: import('./measurement.mjs').Row[] }} result
 */
export function plotRatios({ name, machine, rows }) {
  const span = Math.max(2, ...rows.flatMap(({ ratio }) => (ratio ? [ratio, 1 / ratio] : []))) * 1.15;
  const x = (ratio) => LEFT + ((Math.log(ratio) / Math.log(span) + 1) / 2) * (WIDTH - LEFT - RIGHT);
  const ticks = [1 / 100, 1 / 10, 1 / 5, 1 / 2, 1, 2, 5, 10, 100].filter((t) => t < span && t > 1 / span);
  const seen = rows.map((row) => seenLines(row));
  const heights = rows.map(({ ratio }, i) => (ratio ? COMPARED : ALONE) + SEEN * seen[i].length);
  const tops = heights.map((_, i) => heights.slice(0, i).reduce((sum, height) => sum + height, TOP));
  const bottom = heights.reduce((sum, height) => sum + height, TOP);
  const height = bottom + 40;

  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Benchmark ${text(name)}: ratio of ours to its peer">`,
    '<style>',
    'text { font: 13px system-ui, sans-serif; fill: #1f2328 } .quiet { fill: #59636e; font-size: 11px }',
    '.title { font-size: 16px; font-weight: 600 } .grid { stroke: #e7ebef } .one { stroke: #59636e }',
    '.better { fill: #1a7f64 } .worse { fill: #bc6c25 }',
    '@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .quiet { fill: #9198a1 } .grid { stroke: #2b3138 }',
    '.one { stroke: #9198a1 } .better { fill: #3fb68b } .worse { fill: #e0a458 } }',
    '</style>',
    `<text class="title" x="${LEFT}" y="24">${text(name)}</text>`,
    `<text class="quiet" x="${LEFT}" y="42">ratio to the peer: to the right of 1 ours is better · ${text(machine)}</text>`,
  ];
  for (const tick of ticks) {
    const label = tick < 1 ? `1/${Math.round(1 / tick)}` : String(tick);
    parts.push(
      `<line class="${tick === 1 ? 'one' : 'grid'}" x1="${x(tick)}" x2="${x(tick)}" y1="${TOP}" y2="${bottom}"/>`,
      `<text class="quiet" x="${x(tick)}" y="${bottom + 18}" text-anchor="middle">${label}</text>`,
    );
  }
  rows.forEach(({ name: title, work, ours, peer, peerName, unit, ratio }, i) => {
    const y = tops[i];
    const figures = ratio
      ? `${ours} ${unit} · ${peerName} ${peer} ${unit} · ratio ${Number(ratio.toPrecision(3))}`
      : `${ours} ${unit}`;
    parts.push(
      `<text x="${LEFT}" y="${y + 16}">${text(title === undefined ? work : `${title}: ${work}`)}</text>`,
      `<text class="quiet" x="${LEFT}" y="${y + 32}">${text(figures)}</text>`,
      ...seen[i].map(
        (line, j) => `<text class="quiet" x="${LEFT}" y="${y + 32 + SEEN * (j + 1)}">${text(line)}</text>`,
      ),
    );
    if (ratio) {
      const [begin, end] = [x(1), x(ratio)].sort((a, b) => a - b);
      const width = Math.max(1.5, end - begin);
      parts.push(
        `<rect class="${ratio >= 1 ? 'better' : 'worse'}" x="${begin}" y="${y + 40 + SEEN * seen[i].length}" width="${width}" height="16" rx="3"/>`,
      );
    }
  });
  parts.push('</svg>', '');
  return parts.join('\n');
}

const seenLines = ({ seen }) =>
  Object.entries(seen ?? {}).flatMap(([side, values]) => (values ? [`${side}: ${seenAsText(values)}`] : []));

const text = (value) =>
  String(value).replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
