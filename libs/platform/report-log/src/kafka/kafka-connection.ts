import { Kafka, type LogEntry, logLevel, type RetryOptions, type SASLOptions } from 'kafkajs';

export interface KafkaSasl {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  readonly username: string;
  readonly password: string;
}

export interface KafkaConnection {
  /** `host:port` of some brokers; the others are learnt from them. */
  readonly brokers: readonly string[];
  /** Shows in the brokers' logs and quotas. */
  readonly clientId: string;
  /** Checks the brokers' certificates against the authorities that Node trusts. */
  readonly tls?: 'on';
  readonly sasl?: KafkaSasl;
  /** Is told what the client library warns of: a line each, the same line once in ten seconds at most. */
  readonly onWarning?: (line: string) => void;
}

/** Gives up after about 10 s where connections are refused: as long as an append waits. */
const RETRY: RetryOptions = {
  retries: 12,
  initialRetryTime: 100,
  maxRetryTime: 1000,
  factor: 0.2,
  multiplier: 2,
};

/** Opens nothing yet: producers, consumers and admins of the result do, each for itself. */
export function connectKafka(connection: KafkaConnection): Kafka {
  return clientOf(connection, RETRY);
}

/** A client that tells a failure almost at once, for a caller that tries again itself. */
export function connectImpatiently(connection: KafkaConnection): Kafka {
  return clientOf(connection, { ...RETRY, retries: 1 });
}

function clientOf({ brokers, clientId, tls, sasl, onWarning }: KafkaConnection, retry: RetryOptions): Kafka {
  return new Kafka({
    brokers: [...brokers],
    clientId,
    ssl: tls === 'on',
    sasl: sasl && ({ ...sasl } as SASLOptions),
    connectionTimeout: 3_000,
    requestTimeout: 5_000,
    retry,
    logLevel: onWarning ? logLevel.WARN : logLevel.NOTHING,
    logCreator: () => (onWarning ? quietly(onWarning) : () => undefined),
  });
}

/** Said of what is meant to be so here, or happens in the course of things. */
const EXPECTED = ['Limiting retries for the idempotent producer', 'The group is rebalancing'];
const QUIET_MS = 10_000;
const REMEMBERED = 100;

/** Kafkajs says each failed try anew, hundreds of times while a broker is away. */
function quietly(tell: (line: string) => void): (entry: LogEntry) => void {
  const toldAt = new Map<string, number>();
  return ({ namespace, log }) => {
    const detail = typeof log.error === 'string' ? `: ${log.error}` : '';
    const line = `Kafka client${namespace && `, ${namespace}`}: ${log.message}${detail}`;
    if (EXPECTED.some((expected) => line.includes(expected))) return;
    const now = performance.now();
    if (now - (toldAt.get(line) ?? -Infinity) < QUIET_MS) return;
    toldAt.delete(line);
    toldAt.set(line, now);
    if (toldAt.size > REMEMBERED) toldAt.delete(toldAt.keys().next().value as string);
    tell(line);
  };
}
