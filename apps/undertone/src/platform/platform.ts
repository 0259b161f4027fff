import { ClassifierTrainingModule } from '@undertone/classifier-training';
import { CollectionGatewayModule, gatewayProblem } from '@undertone/collection-gateway';
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
    modules: (store) => [
      MechanismTrainingModule.register({ store, config }),
      CollectionGatewayModule.register({ store }),
      ClassifierTrainingModule.register({ store, config }),
    ],
    problems: [gatewayProblem],
  });
}
