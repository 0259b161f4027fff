import { connectKafka, type KafkaConnection } from './kafka-connection';
import { kafkaErrorOf } from './kafka-error';
import { reachKafka } from './reach-kafka';
import { REPORTS_TOPIC, type TopicsAdmin, TopicsRefusedError } from './topics';

/**
 * Waits for the brokers, hands a client for topics to the work, and takes it back.
 *
 * @throws KafkaError where the brokers can't be reached or refuse it; TopicsRefusedError as the work throws it
 */
export async function withTopicsAdmin<T>(
  { connectWithinMs, ...connection }: KafkaConnection & { readonly connectWithinMs: number },
  work: (admin: TopicsAdmin) => Promise<T>,
): Promise<T> {
  await reachKafka(connection, [], connectWithinMs);
  const admin = connectKafka(connection).admin();
  try {
    await admin.connect();
    return await work(admin);
  } catch (error) {
    throw error instanceof TopicsRefusedError ? error : kafkaErrorOf(error, REPORTS_TOPIC);
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}
