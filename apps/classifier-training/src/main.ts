import { loadConfig, readEnvironment, classifierTrainingVariables } from '@undertone/config';
import { runService } from '@undertone/service';
import { ClassifierTrainingModule } from './classifier-training.module';

async function main(): Promise<void> {
  const config = loadConfig(classifierTrainingVariables, readEnvironment());
  await runService({
    name: 'classifier-training',
    config,
    modules: (store) => [ClassifierTrainingModule.register({ store, config })],
  });
}

main().catch((error: Error) => {
  process.stderr.write(`error: ${error.message}\n`);
  process.exit(1);
});
