import { collectionGatewayVariables, loadConfig, readEnvironment } from '@undertone/config';
import { runService } from '@undertone/service';

import { CollectionGatewayModule } from './collection-gateway.module';
import { gatewayProblem } from './gateway-problem';

async function main(): Promise<void> {
  await runService({
    name: 'collection-gateway',
    config: loadConfig(collectionGatewayVariables, readEnvironment()),
    modules: (store) => [CollectionGatewayModule.register({ store })],
    problems: [gatewayProblem],
  });
}

main().catch((error: Error) => {
  process.stderr.write(`error: ${error.message}\n`);
  process.exit(1);
});
