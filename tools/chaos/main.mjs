// npm run chaos -- [--scenario NAME] [options]: plays faults on real processes and prints what became of every report.
import { Stops } from '../bench/form/stops.mjs';
import { readOptions } from './options.mjs';

async function main(args) {
  let options;
  try {
    options = readOptions(args);
  } catch (error) {
    console.error(error.message);
    return 2;
  }
  const began = performance.now();
  const seconds = () => ((performance.now() - began) / 1000).toFixed(1);
  const log = (line) => console.error(`${seconds().padStart(6)} s  ${line}`);
  const { run } = await import(`./scenarios/${options.scenario}.mjs`);
  const stops = new Stops();
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => void stops.all().finally(() => process.exit(1)));
  try {
    const { held, ...result } = await run({ options, stops, log });
    const { scenario, brokers, reports } = options;
    console.log(
      JSON.stringify(
        { scenario, brokers, reports, ...result, secondsInAll: Number(seconds()), held },
        null,
        2,
      ),
    );
    return held ? 0 : 1;
  } catch (error) {
    log(`failed: ${error.stack}`);
    console.log(JSON.stringify({ ...options, failed: error.message, held: false }, null, 2));
    return 1;
  } finally {
    await stops.all();
  }
}

process.exit(await main(process.argv.slice(2)));
