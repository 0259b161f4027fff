import { setTimeout as sleep } from 'node:timers/promises';

import { connectImpatiently, type KafkaConnection } from './kafka-connection';
import { type KafkaError, kafkaErrorOf } from './kafka-error';

const PROBE_PAUSE_MS = 250;
/** A broker that has just come up may not know yet what the others do. */
const MISSING_FOR_MS = 2_000;

/**
 * Resolves to the cluster's id once the brokers know the topics.
 *
 * @throws KafkaError where they don't answer in time, refuse this client, or have no such topic
 */
export async function reachKafka(
  connection: KafkaConnection,
  topics: readonly string[],
  withinMs: number,
): Promise<string> {
  let until = performance.now() + withinMs;
  let isMissing = false;
  for (;;) {
    try {
      return await probe(connection, topics);
    } catch (error) {
      const { code } = error as KafkaError;
      if (code === 'topic-missing' && !isMissing) {
        isMissing = true;
        until = Math.min(until, performance.now() + MISSING_FOR_MS);
      }
      if (code === 'refused' || performance.now() >= until) throw error;
      await sleep(PROBE_PAUSE_MS);
    }
  }
}

async function probe(connection: KafkaConnection, topics: readonly string[]): Promise<string> {
  const admin = connectImpatiently(connection).admin();
  let asked = '';
  try {
    await admin.connect();
    const { clusterId } = await admin.describeCluster();
    for (asked of topics) await admin.fetchTopicMetadata({ topics: [asked] });
    return clusterId;
  } catch (error) {
    throw kafkaErrorOf(error, asked);
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}
