import { kafkaConnection, withKafkaAdvice } from '@undertone/collection-gateway';
import { type UndertoneConfig } from '@undertone/config';
import {
  applyTopics,
  previewTopics,
  type TopicChange,
  topicPlans,
  withTopicsAdmin,
} from '@undertone/report-log';

export interface WantedTopics {
  readonly partitions?: number;
  readonly replicas?: number;
  readonly inSync?: number;
}

/**
 * Makes the topics on the configured brokers, or says what would be made.
 *
 * @throws Error where no brokers are named; KafkaError and TopicsRefusedError with what to do
 */
export async function applyConfiguredTopics(
  config: UndertoneConfig,
  { partitions, replicas, inSync }: WantedTopics,
  { dryRun }: { readonly dryRun: boolean },
): Promise<TopicChange[]> {
  const connection = kafkaConnection(config, 'undertone-topics');
  if (connection === undefined) {
    throw new Error('KAFKA_BROKERS is not set; name the brokers whose topics are meant, like host:9092');
  }
  const plans = topicPlans({ partitions, replicationFactor: replicas, minimumInSync: inSync });
  try {
    return await withTopicsAdmin({ ...connection, connectWithinMs: config.kafkaConnectTimeoutMs }, (admin) =>
      dryRun ? previewTopics(admin, plans) : applyTopics(admin, plans),
    );
  } catch (error) {
    throw withKafkaAdvice(error, config);
  }
}
