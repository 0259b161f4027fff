/**
 * One row of a benchmark. `ratio` > 1 always means that ours is better, whether less (a time) or more (a rate) is.
 * Where there is no peer, `peer`, `peerName` and `ratio` are null. `name` and `seen` are there only where they were
 * given: `seen` holds the medians of what was seen beside the figure, such as `p50` and `p99` in ms and, by process,
 * processor cores and MiB.
 *
 * @typedef {{ name?: string, work: string, ours: number, peer: number | null, peerName: string | null,
 *   unit: string, ratio: number | null, runs: number, seen?: { ours: Seen, peer: Seen | null } }} Row
 * @typedef {{ [name: string]: number | Seen }} Seen
 * @typedef {number | { figure: number, [name: string]: number | Seen }} Figure
 */

/**
 * Measures ours and the peer in turns (ours first, then the peer first, and so on), so that a busy neighbour troubles
 * both alike, and compares the medians.
 *
 * @param {{ name?: string, work: string, unit: string, better: 'less' | 'more', ours: () => Promise<Figure> | Figure,
 *   peer: () => Promise<Figure> | Figure, peerName: string, runs?: number }} options
 *   each function answers one figure in `unit`; each is called once beforehand, to warm up
 * @returns {Promise<Row>}
 */
export async function alternate(
  { name, work, unit, better, ours, peer, peerName, runs = 9 },
  log = () => {},
) {
  await ours();
  await peer();
  const all = { ours: [], peer: [] };
  for (let run = 0; run < runs; run++) {
    const turns = [async () => all.ours.push(await ours()), async () => all.peer.push(await peer())];
    for (const turn of run % 2 === 0 ? turns : turns.reverse()) await turn();
  }
  const figures = { ours: all.ours.map(figureOf), peer: all.peer.map(figureOf) };
  const [a, b] = [median(figures.ours), median(figures.peer)];
  const ratio = better === 'less' ? b / a : a / b;
  const [bestA, bestB] = [figures.ours, figures.peer].map((some) => best(some, better));
  const bestRatio = better === 'less' ? bestB / bestA : bestA / bestB;
  log(
    `${titleOf({ name, work })}: ${shown(a)} ${unit}, ${peerName} ${shown(b)} ${unit}, ratio ${ratio.toFixed(2)} ` +
      `(best runs ${shown(bestA)} and ${shown(bestB)}, ratio ${bestRatio.toFixed(2)})`,
  );
  const seen = { ours: seenIn(all.ours), peer: seenIn(all.peer) };
  logSeen(seen, log);
  return row({ name, work, ours: a, peer: b, peerName, unit, ratio, runs, seen });
}

/**
 * Measures something that has no peer.
 *
 * @param {{ name?: string, work: string, unit: string, ours: () => Promise<Figure> | Figure, runs?: number }} options
 * @returns {Promise<Row>}
 */
export async function measure({ name, work, unit, ours, runs = 5 }, log = () => {}) {
  await ours();
  const all = [];
  for (let run = 0; run < runs; run++) all.push(await ours());
  const figure = median(all.map(figureOf));
  log(`${titleOf({ name, work })}: ${shown(figure)} ${unit}`);
  const seen = { ours: seenIn(all), peer: null };
  logSeen(seen, log);
  return row({ name, work, ours: figure, peer: null, peerName: null, unit, ratio: null, runs, seen });
}

export function median(figures) {
  const sorted = [...figures].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The smallest figure with at least the share `q` of all at or below it. */
export function quantile(figures, q) {
  const sorted = Float64Array.from(figures).sort();
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)];
}

/** `p50 3.1 ms, p99 9 ms; gateway 0.9 cores, 210 MiB`; empty where nothing was seen. */
export function seenAsText(seen) {
  if (!seen) return '';
  const { p50, p99, processes = {} } = seen;
  const times = p50 === undefined ? [] : [`p50 ${shown(p50)} ms, p99 ${shown(p99)} ms`];
  const uses = Object.entries(processes).map(
    ([name, { cores, mebibytes }]) => `${name} ${shown(cores)} cores, ${Math.round(mebibytes)} MiB`,
  );
  return [...times, ...uses].join('; ');
}

function row({ name, seen, ours, peer, ratio, ...rest }) {
  const figures = { ours: rounded(ours), peer: peer && rounded(peer), ratio: ratio && rounded(ratio) };
  const { work, unit, peerName, runs } = rest;
  return {
    ...(name === undefined ? {} : { name }),
    work,
    ours: figures.ours,
    peer: figures.peer,
    peerName,
    unit,
    ratio: figures.ratio,
    runs,
    ...(seen.ours || seen.peer ? { seen } : {}),
  };
}

const figureOf = (answer) => (typeof answer === 'number' ? answer : answer.figure);

function seenIn(answers) {
  const beside = answers.flatMap((answer) => {
    if (typeof answer === 'number') return [];
    const { figure: _, ...seen } = answer;
    return [seen];
  });
  return beside.length === 0 ? null : medians(beside);
}

/** Median by median through objects of one form. */
function medians(objects) {
  const names = Object.keys(objects[0]);
  return Object.fromEntries(
    names.map((name) => {
      const values = objects.map((object) => object[name]);
      return [name, typeof values[0] === 'number' ? rounded(median(values)) : medians(values)];
    }),
  );
}

function logSeen({ ours, peer }, log) {
  if (ours) log(`    ours: ${seenAsText(ours)}`);
  if (peer) log(`    peer: ${seenAsText(peer)}`);
}

const titleOf = ({ name, work }) => (name === undefined ? work : `${name}, ${work}`);
const best = (figures, better) => (better === 'less' ? Math.min(...figures) : Math.max(...figures));
const rounded = (value) => Number(value.toPrecision(4));
const shown = (value) => String(Number(value.toPrecision(3)));
