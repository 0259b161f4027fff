import { PNG } from 'pngjs';

import type { DemoReport, DeviceSample } from './demo-report';

const percent = (share: number, digits = 1): string => `${(100 * share).toFixed(digits)} %`;
const whole = (n: number): string => n.toLocaleString('en-GB');
const time = (seconds: number): string =>
  seconds < 60 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;

const escapes: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (c) => escapes[c]);

/** A grey image as a data URI, dark ink on light ground. */
function greyImage(values: number[], width: number, height: number): string {
  const png = new PNG({ width, height, colorType: 0 });
  values.forEach((v, i) => {
    const ink = 255 - Math.max(0, Math.min(255, Math.round(v)));
    png.data.fill(ink, 4 * i, 4 * i + 3);
    png.data[4 * i + 3] = 255;
  });
  return `data:image/png;base64,${PNG.sync.write(png, { colorType: 0 }).toString('base64')}`;
}

/** A vector as bars around zero; `reach` is the value at the edge, and what passes it is cut and marked. */
function vectorBars(values: number[], reach: number, cssClass: string, caption: string): string {
  const bar = 11;
  const width = values.length * bar;
  const half = 38;
  const shapes = values.map((v, i) => {
    const size = Math.min(1, Math.abs(v) / reach) * half;
    const y = v >= 0 ? half - size : half;
    const cut =
      Math.abs(v) > reach ? `<circle cx="${i * bar + 5}" cy="${v > 0 ? 3 : 2 * half - 3}" r="1.6"/>` : '';
    return `<rect x="${i * bar + 1}" y="${y.toFixed(1)}" width="${bar - 2}" height="${Math.max(size, 0.6).toFixed(1)}"/>${cut}`;
  });
  const title = `${caption}: ${values.map((v) => v.toFixed(2)).join(', ')}`;
  return `<svg class="vector ${cssClass}" viewBox="0 0 ${width} ${2 * half}" role="img" aria-label="${escapeHtml(title)}"><title>${escapeHtml(title)}</title><line x1="0" x2="${width}" y1="${half}" y2="${half}"/>${shapes.join('')}</svg>`;
}

function sampleRow(s: DeviceSample): string {
  const picture = (values: number[], alt: string) =>
    `<img class="digit" src="${greyImage(values, s.width, s.height)}" alt="${escapeHtml(alt)}">`;
  const kept = s.label === s.reportedLabel;
  const reach = Math.max(1, Math.min(2, ...[Math.max(...s.reportedRepresentation.map(Math.abs))]));
  return `<tr>
<td class="secret">${picture(s.image, `the record: a ${s.label}`)}<div class="label">${escapeHtml(s.label)}</div></td>
<td class="secret">${vectorBars(s.representation, 1, 'clean', 'z')}<div class="scale">± 1.0</div></td>
<td class="sent">${vectorBars(s.reportedRepresentation, reach, 'noisy', 'z̃')}<div class="scale">± ${reach.toFixed(1)}</div></td>
<td class="sent"><span class="label ${kept ? '' : 'flipped'}">${escapeHtml(s.reportedLabel)}</span><div class="scale">${kept ? 'kept' : 'flipped'}</div></td>
<td class="secret">${picture(s.reconstructionOfRepresentation, 'reconstruction from z')}</td>
<td>${picture(s.reconstructionOfReport, 'reconstruction from z̃')}</td>
</tr>`;
}

function accuracyBar(name: string, share: number, cssClass: string, note: string, ceiling?: number): string {
  const mark =
    ceiling === undefined
      ? ''
      : `<i class="ceiling" style="left:${(100 * ceiling).toFixed(2)}%" title="ceiling ${percent(ceiling)}"></i>`;
  return `<div class="bar-row"><div class="bar-name">${escapeHtml(name)}</div><div class="bar"><b class="${cssClass}" style="width:${(100 * share).toFixed(2)}%"></b>${mark}</div><div class="bar-value">${percent(share)}</div><div class="bar-note">${note}</div></div>`;
}

function stageBars(r: DemoReport): string {
  const stages: [string, number][] = [
    ['learn the mechanism', r.seconds.mechanism],
    ['collect the reports', r.seconds.collection],
    ['fit the classifier', r.seconds.classifier],
  ];
  const other = Math.max(0, r.seconds.total - stages.reduce((s, [, t]) => s + t, 0));
  return [...stages, ['start, stop, this page', other] as [string, number]]
    .map(
      ([name, t]) =>
        `<div class="bar-row"><div class="bar-name">${name}</div><div class="bar"><b class="time" style="width:${((100 * t) / r.seconds.total).toFixed(2)}%"></b></div><div class="bar-value">${time(t)}</div></div>`,
    )
    .join('');
}

const STYLE = `
:root{--ink:#1c2430;--soft:#5b6675;--ground:#fbfaf7;--card:#fff;--line:#e4e1d8;--a:#2f6f6a;--b:#c4682c;--c:#8a94a3;--warm:#fff3e8;color-scheme:light dark}
@media(prefers-color-scheme:dark){:root{--ink:#e8e6e0;--soft:#a3abb8;--ground:#14181e;--card:#1c222a;--line:#333b46;--a:#5fb3ab;--b:#e08d55;--c:#7d8896;--warm:#2b241d}}
*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
main{max-width:62rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}h1{font-size:2rem;line-height:1.2;margin:0 0 .5rem}h2{font-size:1.25rem;margin:2.5rem 0 .6rem}
p{margin:.5rem 0;max-width:46rem}.lead{font-size:1.1rem;color:var(--soft)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(11rem,1fr));gap:.8rem;margin:1.4rem 0}
.tile{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:.9rem 1rem}.tile b{display:block;font-size:1.55rem;font-variant-numeric:tabular-nums}.tile span{color:var(--soft);font-size:.9rem}
.card{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:1rem 1.2rem;overflow-x:auto}
table{border-collapse:collapse;width:100%}th{font-weight:600;text-align:left;font-size:.85rem;color:var(--soft);padding:.4rem .6rem;vertical-align:bottom}td{padding:.5rem .6rem;border-top:1px solid var(--line);vertical-align:middle;text-align:left}
td.sent,th.sent{background:var(--warm)}.digit{width:64px;height:64px;image-rendering:pixelated;border-radius:4px;display:block;border:1px solid var(--line)}
.label{font-weight:600;font-variant-numeric:tabular-nums}.flipped{color:var(--b)}.scale{font-size:.75rem;color:var(--soft)}
.vector{width:124px;height:76px;display:block}.vector line{stroke:var(--c);stroke-width:.8}.vector.clean rect{fill:var(--a)}.vector.noisy rect,.vector.noisy circle{fill:var(--b)}
.bar-row{display:grid;grid-template-columns:13rem 1fr 5.5rem;gap:.8rem;align-items:center;margin:.45rem 0}.bar{position:relative;height:1.25rem;background:var(--line);border-radius:3px}.bar b{display:block;height:100%;border-radius:3px;background:var(--c)}
.bar b.clean{background:var(--a)}.bar b.private{background:var(--b)}.bar b.time{background:var(--a)}.bar-value{font-variant-numeric:tabular-nums;text-align:right}.bar-note{grid-column:2/4;color:var(--soft);font-size:.85rem;margin-top:-.35rem}
.ceiling{position:absolute;top:-4px;bottom:-4px;width:2px;background:var(--ink)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.3rem 1rem;margin:0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}code{font-size:.9em}
@media(max-width:40rem){.bar-row{grid-template-columns:1fr 5rem}.bar-name{grid-column:1/3}.bar-note{grid-column:1/3}}
footer{margin-top:3rem;color:var(--soft);font-size:.9rem}`;

/** The demo's report as one self-contained page: no script, no request, readable without knowing the field. */
export function reportPage(r: DemoReport): string {
  const { epsilon: e, accuracy: a, intervals: i } = r;
  const odds = Math.exp(e.total);
  const keep = Math.exp(e.label) / (Math.exp(e.label) + r.dataset.classes - 1);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>Undertone: a classifier from data that nobody saw</title><style>${STYLE}</style></head>
<body><main>
<h1>A classifier from data that nobody saw</h1>
<p class="lead">${whole(r.reports.devices)} devices each held one image and its label. Each sent one randomised report, of which ${r.samples[0]?.bytesSent ?? 0} bytes tell of its record, and nothing else. From those reports the platform learnt to read ${percent(a.cleanInput, 0)} of new images.</p>
<div class="tiles">
<div class="tile"><b>ε = ${e.total}</b><span>promised to each device</span></div>
<div class="tile"><b>${percent(a.cleanInput)}</b><span>right on new, clean images</span></div>
<div class="tile"><b>${percent(a.privateInput)}</b><span>right on a randomised image alone</span></div>
<div class="tile"><b>${whole(r.reports.stored)}</b><span>reports stored, each once</span></div>
<div class="tile"><b>${time(r.seconds.total)}</b><span>from nothing to this page</span></div>
</div>

<h2>What was promised</h2>
<div class="card">
<p>Whatever a device's image and label are, no report becomes more than e<sup>${e.total}</sup> ≈ ${whole(Math.round(odds))} times as likely as it would be with <em>any other</em> image and label. That holds against everyone, the platform included, and whatever else they know: the noise is added on the device, before anything is sent.</p>
<p>The promise is spent in two parts: ε = ${e.features} on the ${r.samples[0]?.representation.length ?? 0} numbers that describe the image, ε = ${e.label} on the label (a share λ = ${r.lambda} for the image). The label is kept with probability ${percent(keep)} and otherwise replaced by one of the other ${r.dataset.classes - 1}, all alike.</p>
<p>An ε of ${e.total} ${e.total >= 4 ? 'is a mild promise for a single person: a single report still says a good deal about its record. It is the setting in which a method is easiest to follow; smaller budgets make stronger promises.' : 'is a strong promise: a single report says little about its record.'}</p>
<dl>
<dt>guarantee</dt><dd>${escapeHtml(r.claim.kind)}, δ = 0, between ${escapeHtml(r.claim.neighbouring)}, parts joined by ${escapeHtml(r.claim.composition)} composition</dd>
<dt>assumed</dt><dd>${escapeHtml(r.claim.assumptions.join('; ') || 'nothing beyond it')}</dd>
<dt>auxiliary data</dt><dd>${escapeHtml(r.claim.d1)}</dd>
<dt>signed mechanism</dt><dd><code>${escapeHtml(r.artifact.id)}</code>, ${whole(r.artifact.bytes)} bytes</dd>
</dl></div>

<h2>What a device sent</h2>
<p>Only the tinted columns left the device. The encoder turns the image into a few numbers z, moves them into a ball of fixed size, and adds noise as wide as the promise asks: z̃. The last two columns show what can be drawn back: from z, which no platform gets (the demo plays the devices too, so it can show six of them), and from z̃, which is all that the platform has.</p>
<div class="card"><table>
<thead><tr><th>record<br>(stays)</th><th>z<br>(stays)</th><th class="sent">z̃<br>(sent)</th><th class="sent">label<br>(sent)</th><th>drawn from z<br>(nobody has it)</th><th>drawn from z̃<br>(the platform)</th></tr></thead>
<tbody>${r.samples.map(sampleRow).join('\n')}</tbody></table></div>

<h2>What was learnt</h2>
<div class="card">
${accuracyBar('auxiliary images only', a.auxiliaryOnly, 'floor', `${whole(r.dataset.auxiliary)} images without labels teach no digit's name: a guess`)}
${accuracyBar('clean images', a.cleanInput, 'clean', `${whole(r.dataset.test)} new images, 95 % interval ${percent(i.cleanInput.low)} to ${percent(i.cleanInput.high)}`)}
${accuracyBar('no privacy', a.noPrivacy, 'roof', 'the same classifier on the same numbers without noise, with the true labels: the roof of this encoder')}
${accuracyBar('randomised images', a.privateInput, 'private', `the classifier sees one z̃ and nothing else; 95 % interval ${percent(i.privateInput.low)} to ${percent(i.privateInput.high)}; the mark is the ceiling ${percent(a.ceilingPrivateInput)} that no method can pass at ε = ${e.features}`, a.ceilingPrivateInput)}
</div>

<h2>The reports</h2>
<div class="card"><dl>
<dt>devices</dt><dd>${whole(r.reports.devices)}</dd>
<dt>accepted</dt><dd>${whole(r.reports.accepted)} (each answered once it was on disk)</dd>
<dt>stored</dt><dd>${whole(r.reports.stored)}</dd>
<dt>repeated</dt><dd>${whole(r.reports.repeated)}, after ${whole(r.reports.resent)} devices sent the same bytes again: recognised, counted, not stored twice</dd>
<dt>rejected</dt><dd>${whole(r.reports.rejected)}</dd>
</dl></div>

<h2>Time</h2>
<div class="card">${stageBars(r)}</div>

<footer><p>Undertone ${escapeHtml(r.version)} · ${escapeHtml(r.dataset.name)} · seed ${r.seed} · engine ${escapeHtml(r.engine.backend)} ${escapeHtml(r.engine.library)} · task <code>${escapeHtml(r.task.name)}</code> · classifier <code>${escapeHtml(r.classifier.id)}</code>. The devices are simulated on one machine, so the columns marked "stays" could be drawn here. The figures are also in <code>report.json</code>.</p></footer>
</main></body></html>
`;
}
