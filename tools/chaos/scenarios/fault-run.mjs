import { setTimeout as pause } from 'node:timers/promises';

import { Fleet } from '../fleet.mjs';
import { Progress } from '../progress.mjs';

const LONGEST_PAUSE_MS = 1_000;

/**
 * Devices send while faults strike, each once a share of the reports is acknowledged; resolves when every report is
 * acknowledged and `settled` has resolved.
 *
 * @param {{ rig: object, options: { reports: number, batch: number, devices: number }, log: (line: string) => void,
 *   faults: { at: number, what: string, strike: () => Promise<unknown> }[], settled: () => Promise<void> }} run
 *   faults in order of `at`, a share from 0 to 1
 */
export async function playFaults({ rig, options, faults, settled, log }) {
  const { stage, gateways, task } = rig;
  const { reports, batch, devices } = options;
  const fleet = new Fleet({
    urls: gateways.map(({ url }) => url),
    task,
    artifact: stage.artifact,
    reports,
    batch,
    devices,
    longestPauseMs: LONGEST_PAUSE_MS,
  });
  const progress = new Progress(async () => ({
    acked: fleet.acked,
    stored: await storedIn(stage.store.pool, task),
  }));
  try {
    const sending = fleet.send();
    const struck = [];
    const striking = strikeAll({ faults, fleet, progress, struck, reports, log });
    await Promise.all([sending, striking]);
    log(`${fleet.acked} acknowledged`);
    await settled();
    await pause(200); // a last look at the progress
    log(`${progress.latest('stored')} stored`);
    return {
      fleet,
      seconds: {
        untilAcked: rounded(progress.lastGrowth('acked')),
        untilStored: rounded(progress.lastGrowth('stored')),
      },
      faults: withStandstills(struck, progress),
    };
  } finally {
    progress.stop();
  }
}

async function strikeAll({ faults, fleet, progress, struck, reports, log }) {
  const under = [];
  for (const { at, what, strike } of faults) {
    while (fleet.acked + fleet.rejected < at * reports) await pause(5);
    log(`${what}, at ${fleet.acked} acknowledged`);
    struck.push({ what, acked: fleet.acked, atSeconds: progress.seconds });
    // The next fault doesn't wait for this one's end: a broker takes seconds to start, and devices go on.
    under.push(strike());
  }
  await Promise.all(under);
}

function withStandstills(struck, progress) {
  return struck.map(({ what, acked, atSeconds }, i) => {
    const next = struck[i + 1]?.atSeconds ?? Infinity;
    const until = (name) => Math.min(next, Math.max(atSeconds, progress.lastGrowth(name)));
    return {
      what,
      atSeconds: rounded(atSeconds),
      acked,
      secondsWithoutAcks: rounded(progress.standstill('acked', atSeconds, until('acked'))),
      secondsWithoutStored: rounded(progress.standstill('stored', atSeconds, until('stored'))),
    };
  });
}

async function storedIn(pool, task) {
  const { rows } = await pool.query({
    name: 'chaos-stored',
    text: `SELECT coalesce(sum(count), 0)::int AS stored FROM outcome_counts WHERE task = $1 AND outcome = 'stored'`,
    values: [task],
  });
  return rows[0].stored;
}

const rounded = (value) => Number(value.toFixed(2));
