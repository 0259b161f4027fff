import { Command, InvalidArgumentError, Option } from 'commander';

import { fitMechanism, type MechanismView } from '../api/mechanisms';
import { contextOf, parseCount, parseEpsilon, parseLambda, parseSeed } from '../command-context';
import { formatTable } from '../output/terminal';
import { type DatasetOptions, datasetOf, datasetOptions } from './dataset-options';

interface FitOptions extends DatasetOptions {
  name: string;
  epsilon: number;
  lambda: number;
  seed: number;
  epochs?: number;
  mode?: 'fixed' | 'conditioned';
  d1Privacy: 'public';
}

const describe = (m: MechanismView): string[] => [
  `mechanism  ${m.name}`,
  `id         ${m.id}`,
  `labels     ${m.labels.join(', ')}`,
  `claim      pure ε-LDP, ε = ${m.claim.epsilon} (${m.claim.parts.map((p) => `${p.of} ${p.epsilon}`).join(', ')})`,
  `created    ${m.createdAt}`,
];

export function mechanismCommand(): Command {
  const mechanism = new Command('mechanism').description('learn, list and show mechanisms');

  const fit = mechanism
    .command('fit')
    .description('learn a mechanism on auxiliary data and publish it as a signed artifact')
    .requiredOption('--name <name>', 'name of the mechanism')
    .requiredOption(
      '--d1-privacy <kind>',
      '"public": the auxiliary data may be public (the encoder is a function of it)',
      requirePublic,
    )
    .option('--epsilon <ε>', 'whole ε of a report', parseEpsilon, 8)
    .option('--lambda <λ>', 'share of ε for the representation', parseLambda, 0.5)
    .option('--seed <seed>', 'seed of training', parseSeed, 0)
    .option('--epochs <count>', 'passes over the auxiliary data', parseCount)
    .addOption(
      new Option(
        '--mode <mode>',
        'fixed: an encoder for this ε; conditioned: one trained over a range of ε and published for this one (default: fixed)',
      ).choices(['fixed', 'conditioned']),
    );
  for (const option of datasetOptions()) fit.addOption(option);
  fit
    .addHelpText(
      'after',
      '\nExample:\n  undertone mechanism fit --name digits --data mnist --rows 15000 --split-seed 0 --d1-privacy public --epsilon 8',
    )
    .action(async (options: FitOptions, command: Command) => {
      const context = contextOf(command);
      const made = await fitMechanism(context, {
        name: options.name,
        dataset: datasetOf(options),
        d1: 'public',
        epsilon: options.epsilon,
        lambda: options.lambda,
        seed: options.seed,
        settings: { epochs: options.epochs, mode: options.mode },
      });
      context.terminal.result(made, describe(made));
    });

  mechanism
    .command('list')
    .description('list published mechanisms')
    .addHelpText('after', '\nExample:\n  undertone mechanism list --json')
    .action(async (_: object, command: Command) => {
      const { api, terminal, signal } = contextOf(command);
      const { mechanisms } = await api.get<{ mechanisms: MechanismView[] }>('/v1/mechanisms', signal);
      terminal.result(
        mechanisms,
        formatTable(
          ['name', 'ε', 'id', 'created'],
          mechanisms.map((m) => [m.name, String(m.claim.epsilon), m.id, m.createdAt]),
        ),
      );
    });

  mechanism
    .command('show <mechanism>')
    .description('show one mechanism and its claim; by its id, or the newest of a name')
    .addHelpText('after', '\nExample:\n  undertone mechanism show digits')
    .action(async (id: string, _: object, command: Command) => {
      const { api, terminal, signal } = contextOf(command);
      const found = await api.get<MechanismView>(`/v1/mechanisms/${encodeURIComponent(id)}`, signal);
      terminal.result(found, describe(found));
    });

  return mechanism;
}

function requirePublic(kind: string): 'public' {
  if (kind === 'public') return kind;
  throw new InvalidArgumentError(
    `--d1-privacy is "public" or nothing yet, and "${kind}" is neither: training under central differential privacy isn't built, so the auxiliary data must be such that it may be published`,
  );
}
