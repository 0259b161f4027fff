import { parseArgs } from 'node:util';

export const SCENARIOS = ['faults', 'broker-away', 'garbage', 'postgres'];

const USAGE = `usage: npm run chaos -- [--scenario ${SCENARIOS.join('|')}] [options]
  --reports N      reports that devices send (faults, postgres: 200000; broker-away: 100000; garbage: 5000)
  --brokers 1|3    brokers of the cluster (faults: 3; broker-away, garbage: 1)
  --batch N        reports in one request (200)
  --devices N      requests under way at the same time (16; broker-away: 64)
  --seconds N      how long the brokers are away (60)
prints one JSON document and exits with 1 unless everything held`;

const OF_SCENARIO = {
  faults: { reports: 200_000, brokers: 3, devices: 16 },
  'broker-away': { reports: 100_000, brokers: 1, devices: 64 },
  garbage: { reports: 5_000, brokers: 1, devices: 16 },
  postgres: { reports: 200_000, brokers: 0, devices: 16 },
};

/** @throws {Error} that says what is wrong and how it is used */
export function readOptions(args) {
  const text = { type: 'string' };
  let values;
  try {
    ({ values } = parseArgs({
      args,
      options: { scenario: text, reports: text, brokers: text, batch: text, devices: text, seconds: text },
    }));
  } catch (error) {
    throw new Error(`${error.message}\n${USAGE}`);
  }
  const scenario = values.scenario ?? 'faults';
  if (!SCENARIOS.includes(scenario)) throw new Error(`--scenario is ${scenario}\n${USAGE}`);
  const preset = OF_SCENARIO[scenario];
  const number = (name, otherwise, from = 1) => {
    const value = values[name] === undefined ? otherwise : Number(values[name]);
    if (!Number.isInteger(value) || value < from)
      throw new Error(`--${name} is ${values[name]}: it must be a whole number from ${from}\n${USAGE}`);
    return value;
  };
  const brokers = preset.brokers === 0 ? 0 : number('brokers', preset.brokers);
  if (![0, 1, 3].includes(brokers)) throw new Error(`--brokers is ${brokers}: it must be 1 or 3\n${USAGE}`);
  return {
    scenario,
    brokers,
    reports: number('reports', preset.reports),
    batch: number('batch', 200),
    devices: number('devices', preset.devices),
    seconds: number('seconds', 60),
  };
}
