import { Logger } from '@nestjs/common';
import { type KafkaConfig } from '@undertone/config';
import {
  type ConsumerFailure,
  EntriesGoneError,
  type KafkaConnection,
  KafkaError,
  KafkaReportLog,
  type LogRecord,
  PostgresReportLog,
  type ReportLog,
} from '@undertone/report-log';
import { type Store } from '@undertone/store';

/** A log that the gateway can use; `rejections` where it has a topic for the entries that were rejected. */
export type GatewayLog = ReportLog & {
  readonly rejections?: { append(records: readonly LogRecord[]): Promise<void> };
};

export interface OpenReportLogOptions {
  readonly config: KafkaConfig;
  /** What the brokers know this program as. */
  readonly clientId: string;
  readonly store: Store;
  /** Told what the client of the brokers warns of, a line each. */
  readonly onNotice: (line: string) => void;
}

/**
 * The log that is configured: Kafka where brokers are named, the store's PostgreSQL elsewhere. Whoever opens it closes it, after the
 * service and before the store.
 *
 * @throws KafkaError where the brokers can't be used, with what to do
 */
export async function openReportLog(options: OpenReportLogOptions): Promise<GatewayLog> {
  const { config, clientId, store, onNotice } = options;
  const connection = kafkaConnection(config, clientId);
  if (connection === undefined) return new PostgresReportLog({ pool: store.pool, onFailure: logFailure });
  try {
    return await KafkaReportLog.open({
      connection: { ...connection, onWarning: onNotice },
      onFailure: logFailure,
      connectWithinMs: config.kafkaConnectTimeoutMs,
    });
  } catch (error) {
    throw withKafkaAdvice(error, config);
  }
}

/** How to reach the configured brokers; `undefined` where none are. */
export function kafkaConnection(config: KafkaConfig, clientId: string): KafkaConnection | undefined {
  const { kafkaBrokers, kafkaTls, kafkaSaslMechanism, kafkaSaslUsername, kafkaSaslPassword } = config;
  if (kafkaBrokers === undefined) return undefined;
  return {
    brokers: kafkaBrokers,
    clientId,
    ...(kafkaTls === 'on' && { tls: 'on' }),
    ...(kafkaSaslMechanism !== undefined &&
      kafkaSaslUsername !== undefined &&
      kafkaSaslPassword !== undefined && {
        sasl: { mechanism: kafkaSaslMechanism, username: kafkaSaslUsername, password: kafkaSaslPassword },
      }),
  };
}

const logger = new Logger('ReportLog');

/** Tells of a batch that failed, in the service's log. */
export function logFailure({ error, retryInMs, offsets, ...where }: ConsumerFailure): void {
  if (error instanceof EntriesGoneError) {
    logger.error(where, error.message);
    return;
  }
  const span = offsets && `${offsets[0]}–${offsets[1]}`;
  logger.error({ err: error, ...where, offsets: span }, `a batch failed; tried again in ${retryInMs} ms`);
}

/** The adapter knows what is wrong, and not which variables it comes from. Other errors stay as they are. */
export function withKafkaAdvice(error: unknown, config: KafkaConfig): unknown {
  if (!(error instanceof KafkaError)) return error;
  const { kafkaBrokers, kafkaConnectTimeoutMs } = config;
  const named = `KAFKA_BROKERS is ${kafkaBrokers?.join(',')}`;
  const advice = {
    'brokers-unreachable': `${named}; none of them was of use within ${kafkaConnectTimeoutMs} ms (KAFKA_CONNECT_TIMEOUT_MS). Start them, correct it, or unset it to keep reports in PostgreSQL until they are stored.`,
    'topic-missing': `${named}.`,
    'topic-unfit': `${named}.`,
    refused: `${named}; see KAFKA_TLS and KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD.`,
  }[error.code];
  return new KafkaError(error.code, `${error.message} ${advice}`, { cause: error });
}
