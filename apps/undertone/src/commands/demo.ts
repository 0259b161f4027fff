import path from 'node:path';

import { Command } from 'commander';

import {
  configOf,
  parseEpsilon,
  parseLambda,
  parseSeed,
  programEnvironment,
  terminalOf,
} from '../command-context';
import { DEMO_SIZES, runDemo } from '../demo/demo';
import { prepareReportFolder, writeDemoReport } from '../demo/write-report';
import { interruptSignal } from '../interruption';

interface DemoOptions {
  epsilon: number;
  lambda: number;
  seed: number;
  quick?: boolean;
  out: string;
}

export function demoCommand(): Command {
  return new Command('demo')
    .description('the whole life cycle on MNIST: learn, publish, privatise, collect, fit, report')
    .option('--epsilon <ε>', 'whole ε of a report', parseEpsilon, 8)
    .option('--lambda <λ>', 'share of ε for the image; the rest protects the label', parseLambda, 0.5)
    .option('--seed <seed>', 'seed of the split and of training (never of the noise)', parseSeed, 0)
    .option('--quick', 'a tenth of the data')
    .option('--out <folder>', 'where report.json and report.html go', path.join('out', 'demo'))
    .addHelpText('after', '\nExample:\n  undertone demo --epsilon 4 --seed 1\n  npm run demo -- --quick')
    .action(async (options: DemoOptions, command: Command) => {
      const terminal = terminalOf(command);
      prepareReportFolder(options.out);
      const report = await runDemo({
        size: options.quick ? DEMO_SIZES.quick : DEMO_SIZES.full,
        epsilon: options.epsilon,
        lambda: options.lambda,
        seed: options.seed,
        config: configOf(command),
        environment: programEnvironment(command),
        terminal,
        signal: interruptSignal(),
      });
      const files = writeDemoReport(report, options.out);
      const share = (x: number) => `${(100 * x).toFixed(1)} %`;
      terminal.result(report, [
        '',
        `promised   ε = ${report.epsilon.total} a report (image ${report.epsilon.features}, label ${report.epsilon.label}), pure ε-LDP`,
        `reports    ${report.reports.devices} devices, ${report.reports.accepted} accepted, ${report.reports.stored} stored, ` +
          `${report.reports.repeated} repeated, ${report.reports.rejected} rejected`,
        `accuracy   ${share(report.accuracy.cleanInput)} on clean images (no privacy: ${share(report.accuracy.noPrivacy)})`,
        `           ${share(report.accuracy.privateInput)} on privatised images (ceiling: ${share(report.accuracy.ceilingPrivateInput)})`,
        `time       ${report.seconds.total.toFixed(0)} s: mechanism ${report.seconds.mechanism.toFixed(0)}, ` +
          `collection ${report.seconds.collection.toFixed(0)}, classifier ${report.seconds.classifier.toFixed(0)}`,
        `report     ${files.page}`,
      ]);
    });
}
