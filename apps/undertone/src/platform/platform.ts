import { mkdirSync, rmSync, writeFileSync } from 'node:fs';

import { ClassifierTrainingModule } from '@undertone/classifier-training';
import { CollectionGatewayModule, gatewayProblem } from '@undertone/collection-gateway';
import { type UndertoneConfig } from '@undertone/config';
import { MechanismTrainingModule } from '@undertone/mechanism-training';
import { HostedService, type HostedServiceSettings } from '@undertone/service';

import { addressFile } from '../command-context';
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

/** Leaves the address in the home while `work` goes on, for the other commands. */
export async function withAddress(home: string, url: string, work: () => Promise<void>): Promise<void> {
  mkdirSync(home, { recursive: true });
  writeFileSync(addressFile(home), `${JSON.stringify({ url, pid: process.pid })}\n`);
  try {
    await work();
  } finally {
    rmSync(addressFile(home), { force: true });
  }
}
