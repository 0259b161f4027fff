import { Logger } from '@nestjs/common';
import { loadConfig, mechanismTrainingVariables, readEnvironment } from '@undertone/config';
import { createServiceApp, stopOnSignal } from '@undertone/service';
import { applyMigrations, connectStore, EmbeddedDatabase, MIGRATIONS_FOLDER } from '@undertone/store';
import { MechanismTrainingModule } from './mechanism-training.module';

/** Runs this service alone. @returns the exit code */
async function run(): Promise<number> {
  const config = loadConfig(mechanismTrainingVariables, readEnvironment());
  const database =
    config.databaseUrl === undefined ? await EmbeddedDatabase.start({ home: config.home }) : undefined;
  const url = config.databaseUrl ?? database!.url;
  try {
    await applyMigrations(url, MIGRATIONS_FOLDER);
    const store = connectStore(url, {
      max: config.databasePoolMax,
      statementTimeoutMs: config.databaseStatementTimeoutMs,
      applicationName: 'mechanism-training',
    });
    try {
      const app = await createServiceApp(MechanismTrainingModule.register({ store, config }), {
        name: 'mechanism-training',
        config,
      });
      new Logger('mechanism-training').log(`answering at ${await app.listen()}`);
      const { outcome } = await stopOnSignal({ stop: () => app.stop(), timeoutMs: config.shutdownTimeoutMs });
      return outcome === 'in-order' ? 0 : 1;
    } finally {
      await store.close();
    }
  } finally {
    await database?.stop();
  }
}

run().then(
  (code) => process.exit(code),
  (error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  },
);
