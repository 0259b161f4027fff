import { ClassifierTrainingModule } from '@undertone/classifier-training';
import { collectionGateway, gatewayProblem } from '@undertone/collection-gateway';
import { type UndertoneConfig } from '@undertone/config';
import { MechanismTrainingModule } from '@undertone/mechanism-training';
import { HostedService, type HostedServiceSettings } from '@undertone/service';

import { version } from '../version';

export type PlatformSettings = Pick<HostedServiceSettings, 'onNotice' | 'logDestination'>;

/** The three services in one process, on one port. */
export function startPlatform(config: UndertoneConfig, settings: PlatformSettings): Promise<HostedService> {
  return HostedService.start({
    ...settings,
    name: 'undertone',
    version,
    config,
    modules: async (store, host) => [
      MechanismTrainingModule.register({ store, config }),
      await collectionGateway(config, store, host),
      ClassifierTrainingModule.register({ store, config }),
    ],
    problems: [gatewayProblem],
  });
}
