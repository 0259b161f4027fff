import { Command } from 'commander';

import { configOf, terminalOf } from '../command-context';

export function doctorCommand(): Command {
  return new Command('doctor')
    .description('what is used on this machine and why: Node.js, engine, database, port, data, folder')
    .addHelpText('after', '\nExample:\n  undertone doctor --json')
    .action(async (_: object, command: Command) => {
      const terminal = terminalOf(command);
      const { examineMachine } = await import('../doctor/examine-machine');
      const findings = await examineMachine(configOf(command));
      const marks = { ok: '✓', warning: '!', failed: '✗' };
      terminal.result(
        findings,
        findings.flatMap((f) => [
          `${marks[f.state]} ${f.part.padEnd(9)} ${f.used}`,
          ...f.because.map((line) => `            ${line}`),
        ]),
      );
      const failed = findings.filter((f) => f.state === 'failed');
      if (failed.length > 0) {
        throw new Error(`${failed.map((f) => f.part).join(', ')}: see above for what to do`);
      }
    });
}
