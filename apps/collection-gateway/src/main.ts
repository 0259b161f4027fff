import { collectionGatewayVariables, loadConfig, readEnvironment } from '@undertone/config';
import { runService } from '@undertone/service';

import { collectionGateway } from './collection-gateway';
import { gatewayProblem } from './gateway-problem';

async function main(): Promise<void> {
  const config = loadConfig(collectionGatewayVariables, readEnvironment());
  await runService({
    name: 'collection-gateway',
    config,
    modules: async (store, host) => [await collectionGateway(config, store, host)],
    problems: [gatewayProblem],
  });
}

main().catch((error: Error) => {
  process.stderr.write(`error: ${error.message}\n`);
  process.exit(1);
});
