import { collectionGatewayVariables, loadConfig } from '@undertone/config';
import { createServiceApp, type ServiceApp, stopOnSignal } from '@undertone/service';
import { applyMigrations, connectStore, EmbeddedDatabase, type Store } from '@undertone/store';

import { CollectionGatewayModule } from './collection-gateway.module';
import { gatewayProblem } from './gateway-problem';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Starts the gateway alone and resolves to its exit code when it has stopped. */
async function main(): Promise<number> {
  const config = loadConfig(collectionGatewayVariables, process.env);
  const database =
    config.databaseUrl === undefined
      ? await EmbeddedDatabase.start({ home: config.home, onNotice: say, onUnexpectedEnd: fail })
      : undefined;
  let store: Store | undefined;
  let app: ServiceApp | undefined;
  const stop = async (): Promise<void> => {
    await app?.stop();
    await store?.close();
    await database?.stop();
  };
  try {
    const url = config.databaseUrl ?? database!.url;
    await applyMigrations(url);
    store = connectStore(url, {
      max: config.databasePoolMax,
      statementTimeoutMs: config.databaseStatementTimeoutMs,
      applicationName: 'collection-gateway',
      onConnectionLost: (error) => say(`a database connection was lost: ${error.message}`),
    });
    app = await createServiceApp(CollectionGatewayModule.register({ store }), {
      name: 'collection-gateway',
      config,
      problems: [gatewayProblem],
    });
    process.stdout.write(`collection-gateway answers at ${await app.listen()}\n`);
  } catch (error) {
    await stop();
    throw error;
  }
  const { outcome } = await stopOnSignal({ stop, timeoutMs: config.shutdownTimeoutMs });
  return outcome === 'in-order' ? 0 : 1;
}

function fail(error: Error): void {
  say(`error: ${error.message}`);
  process.exit(1);
}

main().then((code) => process.exit(code), fail);
