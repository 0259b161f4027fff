import { readEnvironment } from '@undertone/config';
import { Command, CommanderError, InvalidArgumentError } from 'commander';

import { parseAddress, setProgramEnvironment } from './command-context';
import { classifierCommand } from './commands/classifier';
import { demoCommand } from './commands/demo';
import { devicesCommand } from './commands/devices';
import { doctorCommand } from './commands/doctor';
import { kafkaCommand } from './commands/kafka';
import { mechanismCommand } from './commands/mechanism';
import { taskCommand } from './commands/task';
import { upCommand } from './commands/up';
import { Interrupted } from './interruption';
import { version } from './version';

const EXIT = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** Every command takes --json, and --url or --home to find its platform; commander doesn't inherit options by itself. */
function withCommonOptions(command: Command): Command {
  command.exitOverride();
  if (command.commands.length > 0) command.commands.forEach(withCommonOptions);
  else {
    command
      .option('--json', 'print the result as JSON, and nothing else')
      .option('--home <folder>', 'folder of the platform (default: UNDERTONE_HOME or ./.undertone)');
    if (!['up', 'demo', 'doctor', 'apply'].includes(command.name())) {
      command.option(
        '--url <address>',
        'address of a running platform (default: the one of this home)',
        parseAddress,
      );
    }
  }
  return command;
}

export function buildProgram(environment: NodeJS.ProcessEnv): Command {
  const program = new Command('undertone')
    .description(
      'learns from data that it never sees: collection and learning under local differential privacy',
    )
    .version(version)
    .showHelpAfterError('(add --help for the options)');
  setProgramEnvironment(program, environment);
  for (const command of [
    upCommand(),
    demoCommand(),
    doctorCommand(),
    kafkaCommand(),
    mechanismCommand(),
    taskCommand(),
    devicesCommand(),
    classifierCommand(),
  ]) {
    program.addCommand(withCommonOptions(command));
  }
  return program.exitOverride();
}

/** Runs the command line and returns the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted. */
export async function run(args: string[], environment: NodeJS.ProcessEnv): Promise<number> {
  try {
    await buildProgram(environment).parseAsync(args, { from: 'user' });
    return EXIT.done;
  } catch (e) {
    // Thrown by a command itself, so commander has not told it yet.
    if (e instanceof InvalidArgumentError) process.stderr.write(`error: ${e.message}\n`);
    if (e instanceof CommanderError) return e.exitCode === 0 ? EXIT.done : EXIT.usage;
    if (e instanceof Interrupted) {
      process.stderr.write(`${e.message}\n`);
      return EXIT.interrupted;
    }
    process.stderr.write(`error: ${(e as Error).message}\n`);
    if (environment.UNDERTONE_LOG_LEVEL === 'debug') process.stderr.write(`${(e as Error).stack}\n`);
    return EXIT.failed;
  }
}

/** Runs the process's own command line and ends the process. */
export async function runFromShell(): Promise<void> {
  let code: number;
  try {
    code = await run(process.argv.slice(2), { ...readEnvironment() });
  } catch (e) {
    process.stderr.write(`error: the file .env can't be read: ${(e as Error).message}\n`);
    code = EXIT.failed;
  }
  // Except on Linux, a pipe takes a long result later: what was written must be out before the process ends.
  process.stdout.write('', () => process.exit(code));
}

if (require.main === module) void runFromShell();
