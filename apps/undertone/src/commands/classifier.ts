import { readFileSync } from 'node:fs';

import { loadDataset } from '@undertone/datasets';
import { Command, InvalidArgumentError, Option } from 'commander';

import { type ClassifierView, fitClassifier, type IntervalView } from '../api/classifiers';
import { contextOf, parseCount, parseSeed } from '../command-context';
import { formatTable } from '../output/terminal';
import { type DatasetOptions, datasetOf, datasetOptions } from './dataset-options';

const share = (i: IntervalView | undefined): string =>
  i
    ? `${(100 * i.value).toFixed(1)} % (${(100 * i.low).toFixed(1)} to ${(100 * i.high).toFixed(1)})`
    : 'not measured';

const describe = (c: ClassifierView): string[] => [
  `classifier  ${c.name}`,
  `id          ${c.id}`,
  `task        ${c.task}, ${c.metrics.reports} reports`,
  `accuracy    clean input ${share(c.metrics.evaluation?.cleanInput)}, private input ${share(c.metrics.evaluation?.privateInput)}`,
  `engine      ${c.engine.name} ${c.engine.library}`,
  `created     ${c.createdAt}`,
];

interface FitOptions extends DatasetOptions {
  name: string;
  task: string;
  seed: number;
  epochs?: number;
  evaluate?: 'test' | 'train';
}

export function classifierCommand(): Command {
  const classifier = new Command('classifier').description('fit, list, show and use classifiers');

  classifier
    .command('fit')
    .description("fit a noise-marginalised classifier on a task's reports")
    .requiredOption('--name <name>', 'name of the classifier')
    .requiredOption('--task <task>', 'task whose reports are used')
    .option('--seed <seed>', 'seed of training', parseSeed, 0)
    .option('--epochs <count>', 'passes over the reports', parseCount)
    .addOption(
      new Option('--evaluate <part>', 'measure it on clean records of mnist that no device reported').choices(
        ['train', 'test'],
      ),
    )
    .addHelpText(
      'after',
      '\nExample:\n  undertone classifier fit --name digits --task digits --evaluate test',
    )
    .action(async (options: FitOptions, command: Command) => {
      const context = contextOf(command);
      const made = await fitClassifier(context, {
        name: options.name,
        task: options.task,
        seed: options.seed,
        settings: options.epochs === undefined ? undefined : { epochs: options.epochs },
        evaluation: options.evaluate ? { dataset: { source: 'mnist', part: options.evaluate } } : undefined,
      });
      context.terminal.result(made, describe(made));
    });

  classifier
    .command('list')
    .description('list classifiers')
    .addHelpText('after', '\nExample:\n  undertone classifier list')
    .action(async (_: object, command: Command) => {
      const { api, terminal, signal } = contextOf(command);
      const { classifiers } = await api.get<{ classifiers: ClassifierView[] }>('/v1/classifiers', signal);
      terminal.result(
        classifiers,
        formatTable(
          ['name', 'task', 'reports', 'clean input', 'id'],
          classifiers.map((c) => [
            c.name,
            c.task,
            String(c.metrics.reports),
            share(c.metrics.evaluation?.cleanInput),
            c.id,
          ]),
        ),
      );
    });

  classifier
    .command('show <classifier>')
    .description('show one classifier with its lineage; by its id, or the newest of a name')
    .addHelpText('after', '\nExample:\n  undertone classifier show digits')
    .action(async (id: string, _: object, command: Command) => {
      const { api, terminal, signal } = contextOf(command);
      const found = await api.get<ClassifierView>(`/v1/classifiers/${encodeURIComponent(id)}`, signal);
      terminal.result(found, describe(found));
    });

  const predict = classifier
    .command('predict <classifier>')
    .description('classify clean records: rows of a data file, or a JSON file with a list of records')
    .option('--records <file>', 'JSON file: a list of records');
  for (const option of datasetOptions()) predict.addOption(option);
  predict
    .addHelpText(
      'after',
      '\nExample:\n  undertone classifier predict digits --data mnist --part test --rows 5',
    )
    .action(async (id: string, options: DatasetOptions & { records?: string }, command: Command) => {
      const { api, terminal, signal, config } = contextOf(command);
      const records = options.records ? recordsIn(options.records) : rowsOf(options, config.dataRoots);
      const { predictions } = await api.post<{ predictions: { label: string; probabilities: number[] }[] }>(
        `/v1/classifiers/${encodeURIComponent(id)}/predict`,
        { records },
        signal,
      );
      terminal.result(
        predictions,
        predictions.map((p, i) => `${i}: ${p.label} (${(100 * Math.max(...p.probabilities)).toFixed(1)} %)`),
      );
    });

  return classifier;
}

function recordsIn(file: string): unknown {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch (e) {
    throw new Error(`${file} is not valid JSON: ${(e as Error).message}; it must hold a list of records`);
  }
}

const ROWS = 5;
const MOST_ROWS = 100;

/** @throws InvalidArgumentError where more rows are asked for than one request may hold. */
function rowsOf(options: DatasetOptions, roots: readonly string[]): number[][] {
  const { rows = ROWS } = options;
  if (rows > MOST_ROWS) {
    throw new InvalidArgumentError(
      `--rows must be at most ${MOST_ROWS} here, and ${rows} is more: take slices by --offset.`,
    );
  }
  const data = loadDataset(datasetOf({ ...options, rows }), { roots });
  return Array.from({ length: data.rows }, (_, i) => Array.from(data.raw(i)));
}
