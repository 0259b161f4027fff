import { type DynamicModule } from '@nestjs/common';
import { type CollectionGatewayConfig } from '@undertone/config';
import { type ServiceHost } from '@undertone/service';
import { type Store } from '@undertone/store';

import { CollectionGatewayModule } from './collection-gateway.module';
import { openReportLog } from './report-log/open-report-log';

/**
 * The gateway as it is configured, with the log that its reports go through.
 *
 * @throws KafkaError where brokers are configured and can't be used
 */
export async function collectionGateway(
  config: CollectionGatewayConfig,
  store: Store,
  { keep, onNotice }: ServiceHost,
): Promise<DynamicModule> {
  const log = await openReportLog({ config, clientId: 'undertone-gateway', store, onNotice });
  return CollectionGatewayModule.register({
    store,
    reportLog: keep(log),
    parts: config.gatewayParts,
    ingestStallMs: config.ingestStallMs,
    reportRetentionDays: config.reportRetentionDays,
  });
}
