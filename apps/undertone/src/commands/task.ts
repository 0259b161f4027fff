import { type CountsDocument, type TaskDocument } from '@undertone/protocol';
import { Command } from 'commander';

import { mechanismId } from '../api/mechanisms';
import { total } from '../api/tasks';
import { contextOf, parseCount } from '../command-context';
import { formatTable } from '../output/terminal';

interface CreateOptions {
  name: string;
  mechanism: string;
  opensAt?: string;
  closesAt?: string;
  minimumBatch?: number;
}

const describe = (t: TaskDocument, c: CountsDocument): string[] => [
  `task      ${t.name} (${t.status})`,
  `artifact  ${t.artifact}`,
  `ε         ${t.epsilon} a report, ${t.perPersonCap} report(s) a person`,
  `dates     ${t.opensAt} to ${t.closesAt ?? 'no end'}`,
  `reports   ${c.stored} stored, ${c.repeated} repeated, ${total(c.rejected)} rejected, ${c.waiting ?? 'an unknown number'} waiting`,
];

export function taskCommand(): Command {
  const task = new Command('task').description('create, list and show collections');

  task
    .command('create')
    .description('open a collection of reports made with one mechanism')
    .requiredOption('--name <name>', 'name of the task, part of its address')
    .requiredOption('--mechanism <id or name>', 'the published mechanism; of a name, the newest')
    .option('--opens-at <time>', 'ISO 8601; default now')
    .option('--closes-at <time>', 'ISO 8601; default never')
    .option('--minimum-batch <count>', 'reports below which nothing is fitted', parseCount)
    .addHelpText(
      'after',
      '\nExample:\n  undertone task create --name digits --mechanism digits --minimum-batch 1000',
    )
    .action(async (options: CreateOptions, command: Command) => {
      const { api, terminal, signal } = contextOf(command);
      const { name, mechanism, opensAt, closesAt, minimumBatch } = options;
      const artifact = await mechanismId(api, mechanism, signal);
      const request = { name, artifact, opensAt, closesAt, minimumBatch };
      const made = await api.post<TaskDocument>('/v1/tasks', request, signal);
      const counts = await api.get<CountsDocument>(`/v1/tasks/${made.name}/counts`, signal);
      terminal.result(made, describe(made, counts));
    });

  task
    .command('list')
    .description('list tasks')
    .addHelpText('after', '\nExample:\n  undertone task list')
    .action(async (_: object, command: Command) => {
      const { api, terminal, signal } = contextOf(command);
      const { tasks } = await api.get<{ tasks: TaskDocument[] }>('/v1/tasks', signal);
      terminal.result(
        tasks,
        formatTable(
          ['name', 'status', 'ε', 'artifact'],
          tasks.map((t) => [t.name, t.status, String(t.epsilon), t.artifact]),
        ),
      );
    });

  task
    .command('show <name>')
    .description('show a task and what came in')
    .addHelpText('after', '\nExample:\n  undertone task show digits')
    .action(async (name: string, _: object, command: Command) => {
      const { api, terminal, signal } = contextOf(command);
      const path = `/v1/tasks/${encodeURIComponent(name)}`;
      const [document, counts] = await Promise.all([
        api.get<TaskDocument>(path, signal),
        api.get<CountsDocument>(`${path}/counts`, signal),
      ]);
      terminal.result({ ...document, counts }, describe(document, counts));
    });

  task
    .command('close <name>')
    .description('close a task: no report is taken from then on')
    .addHelpText('after', '\nExample:\n  undertone task close digits')
    .action(async (name: string, _: object, command: Command) => {
      const { api, terminal, signal } = contextOf(command);
      const closed = await api.post<TaskDocument>(`/v1/tasks/${encodeURIComponent(name)}/close`, {}, signal);
      terminal.result(closed, [`task ${closed.name} is ${closed.status}`]);
    });

  return task;
}
