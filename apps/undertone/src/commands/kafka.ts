import { Command } from 'commander';

import { configOf, parseCount, terminalOf } from '../command-context';
import { formatTable } from '../output/terminal';

interface ApplyOptions {
  partitions?: number;
  replicas?: number;
  inSync?: number;
  dryRun?: boolean;
}

const DONE = { created: 'created', changed: 'changed', unchanged: 'unchanged' } as const;
const TO_DO = { created: 'to create', changed: 'to change', unchanged: 'unchanged' } as const;

export function kafkaCommand(): Command {
  const kafka = new Command('kafka').description('what a Kafka cluster needs before reports go through it');
  const topics = kafka.command('topics').description('the topics of reports and of rejected entries');

  topics
    .command('apply')
    .description('make the topics as the platform needs them; applied again, it changes nothing')
    .option('--partitions <count>', 'of the reports’ topic: as many ingests can share the work', parseCount)
    .option('--replicas <count>', 'of each partition (default for new topics: 3, or all brokers)', parseCount)
    .option('--in-sync <count>', 'replicas that must have a report before it is acknowledged', parseCount)
    .option('--dry-run', 'say what would be done, and do nothing')
    .addHelpText(
      'after',
      '\nThe brokers are those of KAFKA_BROKERS. None of the three numbers is ever lowered.\n' +
        '\nExample:\n  undertone kafka topics apply --partitions 12',
    )
    .action(async (options: ApplyOptions, command: Command) => {
      const terminal = terminalOf(command);
      const { applyConfiguredTopics } = await import('../kafka/apply-topics');
      const { dryRun = false, ...wanted } = options;
      const changes = await applyConfiguredTopics(configOf(command), wanted, { dryRun });
      const words = dryRun ? TO_DO : DONE;
      terminal.result(
        changes,
        formatTable(
          ['topic', '', 'what'],
          changes.map(({ topic, action, details }) => [topic, words[action], details.join(', ')]),
        ),
      );
    });

  return kafka;
}
