import { type CompressionTypes, type Message, type ProducerRecord, type RecordMetadata } from 'kafkajs';

import { within } from './within';

/** What is used of a kafkajs producer. */
export interface BatchProducer {
  connect(): Promise<void>;
  send(batch: ProducerRecord): Promise<RecordMetadata[]>;
  disconnect(): Promise<void>;
}

export interface ProducerSuccessionSettings {
  readonly topic: string;
  readonly compression?: CompressionTypes;
  readonly create: () => BatchProducer;
  /** A send that kafkajs has neither answered nor failed by then never will be. */
  readonly sendLimitMs: number;
}

interface Term {
  readonly producer: BatchProducer;
  readonly connected: Promise<void>;
  underWay: number;
  over: boolean;
}

/**
 * One producer for all partitions of a topic, until a send fails: then the next send has a new one.
 *
 * Kafkajs numbers messages for the broker to tell repeats by, and takes the numbers of a failed send back although
 * its bytes may have reached the log. The next batch would go out under the same numbers, and the broker could take
 * it for the repeat and acknowledge it unwritten. A new producer has numbers of its own. Sends to other partitions
 * that are under way keep their producer, as their numbers are not in doubt; it is disconnected once they end.
 *
 * At most one send a partition may be under way, which is the caller's part.
 */
export class ProducerSuccession {
  private current: Term | undefined;
  private readonly terms = new Set<Term>();
  private closed = false;

  constructor(private readonly settings: ProducerSuccessionSettings) {}

  /** Resolves when the messages are in the log; when it rejects, some or all of them may be there all the same. */
  async send(partition: number, messages: Message[]): Promise<void> {
    const term = (this.current ??= this.begin());
    try {
      await within(this.settings.sendLimitMs, this.sendIn(term, partition, messages));
    } catch (error) {
      this.end(term);
      throw error;
    }
  }

  /** Disconnects; a send that is under way still ends as it may. */
  async close(): Promise<void> {
    this.closed = true;
    await Promise.all(
      [...this.terms].map((term) => {
        this.end(term);
        return this.disconnect(term);
      }),
    );
  }

  private begin(): Term {
    const producer = this.settings.create();
    const term = { producer, connected: producer.connect(), underWay: 0, over: this.closed };
    this.terms.add(term);
    return term;
  }

  private async sendIn(term: Term, partition: number, messages: Message[]): Promise<void> {
    const { topic, compression } = this.settings;
    term.underWay++;
    try {
      await term.connected;
      const answer = await term.producer.send({ topic, messages, acks: ALL, compression });
      // Kafkajs resolves without a partition whose leader moved to a broker that it had asked before.
      const [only, ...others] = answer;
      if (only?.topicName !== topic || only.partition !== partition || others.length > 0) {
        throw new Error(`Messages for partition ${partition} were answered by ${JSON.stringify(answer)}.`);
      }
    } catch (error) {
      this.end(term);
      throw error;
    } finally {
      term.underWay--;
      if (term.over && term.underWay === 0) void this.disconnect(term);
    }
  }

  private end(term: Term): void {
    term.over = true;
    if (this.current === term) this.current = undefined;
  }

  /** Kafkajs may wait for ever for answers that a lost connection owes it. */
  private async disconnect(term: Term): Promise<void> {
    this.terms.delete(term);
    await within(DISCONNECT_LIMIT_MS, term.producer.disconnect()).catch(() => undefined);
  }
}

const ALL = -1;
const DISCONNECT_LIMIT_MS = 5_000;
