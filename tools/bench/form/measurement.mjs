/**
 * One row of a benchmark. `ratio` > 1 always means that ours is better, whether less (a time) or more (a rate) is.
 * Where there is no peer, `peer`, `peerName` and `ratio` are null.
 *
 * @typedef {{ work: string, ours: number, peer: number | null, peerName: string | null, unit: string,
 *   ratio: number | null, runs: number }} Row
 */

/**
 * Measures ours and the peer in turns (ours first, then the peer first, and so on), so that a busy neighbour troubles
 * both alike, and compares the medians.
 *
 * @param {{ work: string, unit: string, better: 'less' | 'more', ours: () => Promise<number> | number,
 *   peer: () => Promise<number> | number, peerName: string, runs?: number }} options
 *   each function answers one figure in `unit`; each is called once beforehand, to warm up
 * @returns {Promise<Row>}
 */
export async function alternate({ work, unit, better, ours, peer, peerName, runs = 9 }, log = () => {}) {
  await ours();
  await peer();
  const figures = { ours: [], peer: [] };
  for (let run = 0; run < runs; run++) {
    const turns = [async () => figures.ours.push(await ours()), async () => figures.peer.push(await peer())];
    for (const turn of run % 2 === 0 ? turns : turns.reverse()) await turn();
  }
  const [a, b] = [median(figures.ours), median(figures.peer)];
  const ratio = better === 'less' ? b / a : a / b;
  const [bestA, bestB] = [figures.ours, figures.peer].map((all) => best(all, better));
  const bestRatio = better === 'less' ? bestB / bestA : bestA / bestB;
  log(
    `${work}: ${shown(a)} ${unit}, ${peerName} ${shown(b)} ${unit}, ratio ${ratio.toFixed(2)} ` +
      `(best runs ${shown(bestA)} and ${shown(bestB)}, ratio ${bestRatio.toFixed(2)})`,
  );
  return { work, ours: rounded(a), peer: rounded(b), peerName, unit, ratio: rounded(ratio), runs };
}

/**
 * Measures something that has no peer.
 *
 * @param {{ work: string, unit: string, ours: () => Promise<number> | number, runs?: number }} options
 * @returns {Promise<Row>}
 */
export async function measure({ work, unit, ours, runs = 5 }, log = () => {}) {
  await ours();
  const figures = [];
  for (let run = 0; run < runs; run++) figures.push(await ours());
  log(`${work}: ${shown(median(figures))} ${unit}`);
  return { work, ours: rounded(median(figures)), peer: null, peerName: null, unit, ratio: null, runs };
}

export function median(figures) {
  const sorted = [...figures].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const best = (figures, better) => (better === 'less' ? Math.min(...figures) : Math.max(...figures));
const rounded = (value) => Number(value.toPrecision(4));
const shown = (value) => String(Number(value.toPrecision(3)));
