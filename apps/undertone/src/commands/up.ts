import { Command } from 'commander';

import { configOf, parsePort, terminalOf } from '../command-context';
import { withAddress } from '../platform/platform-address';

export function upCommand(): Command {
  return new Command('up')
    .description(
      'run the platform: three services in one process, with an embedded PostgreSQL unless DATABASE_URL is set',
    )
    .option('--host <address>', 'interface to listen on (default: UNDERTONE_HOST or 127.0.0.1)')
    .option(
      '--port <port>',
      'port to listen on, 0 for a free one (default: UNDERTONE_PORT or 8377)',
      parsePort,
    )
    .addHelpText(
      'after',
      '\nExample:\n  undertone up --port 8377\n  DATABASE_URL=postgresql://… undertone up\n  KAFKA_BROKERS=127.0.0.1:9092 undertone up',
    )
    .action(async (_: object, command: Command) => {
      const terminal = terminalOf(command);
      const config = configOf(command);
      // Loaded here, because the services take a second that no other command needs.
      const { startPlatform } = await import('../platform/platform');
      const platform = await startPlatform(config, {
        onNotice: (line) => terminal.warn(line),
        // With --json, standard output carries the one document and no log.
        logDestination: terminal.style === 'json' ? process.stderr : undefined,
      });
      await withAddress(config.home, platform.url, async () => {
        terminal.result({ url: platform.url, pid: process.pid }, [
          `undertone answers at ${platform.url} (API: ${platform.url}/docs)`,
          config.databaseUrl === undefined
            ? `data in ${config.home}`
            : 'data in the PostgreSQL of DATABASE_URL',
          'Ctrl-C stops it',
        ]);
        await platform.serve(() => terminal.say('stopping …'));
      });
    });
}
