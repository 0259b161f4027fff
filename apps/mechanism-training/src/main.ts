import { loadConfig, readEnvironment, mechanismTrainingVariables } from '@undertone/config';
import { runService } from '@undertone/service';
import { MechanismTrainingModule } from './mechanism-training.module';

async function main(): Promise<void> {
  const config = loadConfig(mechanismTrainingVariables, readEnvironment());
  await runService({
    name: 'mechanism-training',
    config,
    modules: (store) => [MechanismTrainingModule.register({ store, config })],
  });
}

main().catch((error: Error) => {
  process.stderr.write(`error: ${error.message}\n`);
  process.exit(1);
});
