// Rows of what has no peer: counts over some runs, with every run in the details.

/**
 * @param {object[]} accounts of `runFault`, of all contestants and runs
 * @returns {object[]} a row for each client, pattern and fault: acknowledged messages that are not in the log
 */
export const lossRows = (accounts) =>
  groupsOf(accounts, ({ fault, client, pattern }) => `${fault}/${client}-${pattern}`).map(([name, runs]) => {
    const of = (key) => runs.map((run) => run[key]);
    const { silences, errors } = { silences: of('silentSeconds'), errors: merged(of('errors')) };
    const told = Object.entries(errors).map(([error, times]) => `${error} × ${times}`);
    return rowOf(name, runs, {
      figure: sum(of('lost')),
      unit: 'acknowledged messages lost',
      work:
        `${sum(of('sent'))} sent, ${sum(of('acked'))} acknowledged, lost by run ${of('lost').join(' ')}, ` +
        `doubled ${sum(of('doubled'))}, out of order ${sum(of('disordered'))}, ` +
        `refused: ${told.join(', ') || 'none'}, unanswered ${sum(of('unanswered'))}, ` +
        `silent for ${shown(middle(silences))} s (${shown(Math.max(...silences))} at most)`,
    });
  });

/** @param {object[]} accounts of `followThroughRestart` @returns {object[]} a row for each: runs in which it went on by itself */
export const restartRows = (accounts) =>
  groupsOf(accounts, ({ fault, client, pattern }) => `consumer-${fault}/${client}-${pattern}`).map(
    ([name, runs]) => {
      const of = (key) => runs.map((run) => run[key]);
      return rowOf(name, runs, {
        figure: of('resumed').filter(Boolean).length,
        unit: `of ${runs.length} runs resumed`,
        work:
          `missing by run ${of('missing').join(' ')}, repeated ${of('repeated').join(' ')} of ${sum(of('stored'))}, ` +
          `silent for ${of('silentSeconds').map(shown).join(', ')} s`,
      });
    },
  );

/** @param {object[]} accounts of `followThroughRebalances` */
export const rebalanceRows = (accounts) =>
  groupsOf(accounts, ({ client, pattern }) => `rebalance/${client}-${pattern}`).map(([name, runs]) => {
    const events = Object.keys(runs[0].silences);
    const silences = events.map(
      (event) => `${event} ${shown(middle(runs.map((run) => run.silences[event])))} s`,
    );
    return rowOf(name, runs, {
      figure: runs.filter(({ resumed }) => resumed).length,
      unit: `of ${runs.length} runs without a message missing`,
      work: `repeated ${runs.map(({ repeated }) => repeated).join(' ')} of ${sum(runs.map(({ stored }) => stored))}; silent when another ${silences.join(', ')}`,
    });
  });

function groupsOf(accounts, nameOf) {
  const groups = new Map();
  for (const account of accounts) {
    const name = nameOf(account);
    groups.set(name, [...(groups.get(name) ?? []), account]);
  }
  return [...groups];
}

const rowOf = (name, details, { figure, unit, work }) => ({
  name,
  work,
  ours: figure,
  peer: null,
  peerName: null,
  unit,
  ratio: null,
  runs: details.length,
  details,
});

function merged(counts) {
  const all = {};
  for (const [key, count] of counts.flatMap(Object.entries)) all[key] = (all[key] ?? 0) + count;
  return all;
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const shown = (seconds) => String(Number(seconds.toPrecision(2)));

function middle(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}
