/**
 * - `brokers-unreachable`: no broker answered in time.
 * - `topic-missing`: the brokers answer, the topic isn't there.
 * - `topic-unfit`: the topic is there, with settings under which acknowledged reports could be lost.
 * - `refused`: the brokers answer and won't let this client in: its login, its rights, or TLS where none is spoken.
 */
export type KafkaErrorCode = 'brokers-unreachable' | 'topic-missing' | 'topic-unfit' | 'refused';

/** A cluster that can't be used as it is; says what to do about it. */
export class KafkaError extends Error {
  constructor(
    readonly code: KafkaErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'KafkaError';
  }
}

const REFUSED = /AUTHORIZATION|AUTHENTICATION|SASL/;
const NO_TRUST = /CERT|SIGNATURE|SSL|TLS/;

/** What a failure of the client library means for someone who wants to use a topic. */
export function kafkaErrorOf(error: unknown, topic: string): KafkaError {
  if (error instanceof KafkaError) return error;
  const causes = causesOf(error);
  const { message } = causes[causes.length - 1];
  const told = causes.flatMap(({ type, code, name }) => [type, code, name]).join(' ');
  const options = { cause: error };
  if (told.includes('UNKNOWN_TOPIC_OR_PARTITION')) {
    const advice = 'Run "undertone kafka topics apply" against these brokers.';
    return new KafkaError('topic-missing', `Kafka has no topic "${topic}". ${advice}`, options);
  }
  if (REFUSED.test(told) || NO_TRUST.test(told)) {
    return new KafkaError('refused', `Kafka refuses this client: ${message}.`, options);
  }
  return new KafkaError('brokers-unreachable', `Kafka's brokers can't be reached: ${message}.`, options);
}

interface Failure extends Error {
  readonly type?: string;
  readonly code?: string | number;
}

/** The error and what is behind it, outermost first. */
function causesOf(error: unknown): Failure[] {
  const causes: Failure[] = [];
  for (let cause = error; cause instanceof Error && !causes.includes(cause); cause = cause.cause)
    causes.push(cause);
  return causes.length > 0 ? causes : [new Error(String(error))];
}
