import { loadDataset } from '@undertone/datasets';
import { Command } from 'commander';

import { trustedKeys } from '../api/mechanisms';
import { settledCounts, total } from '../api/tasks';
import { contextOf, parseCount, parseEpsilon } from '../command-context';
import { simulateDevices } from '../devices/device-fleet';
import { type DatasetOptions, datasetOf, datasetOptions } from './dataset-options';

interface SimulateOptions extends DatasetOptions {
  task: string;
  maximumEpsilon: number;
  concurrency?: number;
  resend?: number;
}

export function devicesCommand(): Command {
  const devices = new Command('devices').description('play the devices');

  const simulate = devices
    .command('simulate')
    .description(
      'one device a row of a labelled data file: each privatises its record and sends one report over HTTP',
    )
    .requiredOption('--task <task>', 'task to report to')
    .option('--maximum-epsilon <ε>', 'the largest whole ε that the devices take part for', parseEpsilon, 8)
    .option('--concurrency <count>', 'requests in flight at a time', parseCount)
    .option('--resend <count>', 'devices that send their bytes once more', parseCount);
  for (const option of datasetOptions()) simulate.addOption(option);
  simulate
    .addHelpText(
      'after',
      '\nExample:\n  undertone devices simulate --task digits --data mnist --split-seed 0 --offset 15000 --rows 45000\n\nDevices of one run are forgotten in the next: the same rows once more are drawn and counted once more.',
    )
    .action(async (options: SimulateOptions, command: Command) => {
      const { api, terminal, signal, config } = contextOf(command);
      const data = loadDataset(datasetOf(options), { roots: config.dataRoots });
      const fleet = await simulateDevices({
        url: api.url,
        task: options.task,
        trustedKeys: await trustedKeys(api),
        data,
        maximumEpsilon: options.maximumEpsilon,
        concurrency: options.concurrency,
        resend: options.resend ?? 0,
        remember: 0,
        terminal,
        signal,
      });
      const counts = await settledCounts(api, options.task, signal);
      const { devices: sent, accepted, rejected, resent, seconds } = fleet;
      terminal.result({ devices: sent, accepted, rejected, resent, seconds, counts }, [
        `${sent} devices: ${accepted} accepted, ${rejected} rejected, ${resent} sent again (${seconds.toFixed(1)} s)`,
        `task ${options.task}: ${counts.stored} stored, ${counts.repeated} repeated, ${total(counts.rejected)} rejected`,
      ]);
    });

  return devices;
}
