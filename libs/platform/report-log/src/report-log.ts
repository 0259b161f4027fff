/**
 * The durable log between the gateway's answer and the report table: an append is acknowledged once the log
 * has it, and consumers read each partition in order, at least once.
 *
 * Exactly-once effects are the consumer's: it stores the last offset it has dealt with in the same transaction
 * as the effects, and `positionOf` gives that offset back to the log.
 */
export interface ReportLog {
  /** Names the log for as long as its offsets compare; keep positions under it, never under the consumer alone. */
  readonly name: string;

  /**
   * Resolves when every record is durable. Rejects with `ReportLogError`; some records may then be in the log all
   * the same, so append them again under the same keys and let the consumer drop repeats. An empty list resolves.
   */
  append(records: readonly LogRecord[]): Promise<void>;

  /** Starts reading for a consumer. Of several subscriptions of one name, one at a time reads a partition. */
  subscribe(consumer: LogConsumer): Subscription;

  /** Number of entries after the consumer's position; 0 exactly when nothing waits. */
  lag(consumer: LogPositions): Promise<number>;

  /**
   * Forgets at most `limit` of the oldest entries that the consumer is past, and resolves to how many. A log that
   * keeps a retention of its own answers 0.
   */
  discard(consumer: LogPositions, limit: number): Promise<number>;

  /** Refuses further appends, waits for those under way, and stops every subscription. */
  close(): Promise<void>;
}

/** What a report is to the log: opaque bytes, which the log marks with the schema `REPORT_SCHEMA`. Records with equal keys stay in one partition, in order. */
export interface LogRecord {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

export interface LogEntry {
  /** Grows within a partition; not necessarily by one. */
  readonly offset: bigint;
  readonly value: Uint8Array;
  /** What the writer says the value is: `REPORT_SCHEMA` of one that follows the protocol; `undefined` of one that says nothing. */
  readonly schema: string | undefined;
  readonly appendedAt: Date;
}

/** Entries of one partition in offset order; never empty. */
export interface LogBatch {
  readonly partition: number;
  readonly entries: readonly LogEntry[];
}

export interface LogPositions {
  /** The last offset that the consumer is past in this partition; `undefined` where it has seen none. */
  positionOf(partition: number): Promise<bigint | undefined>;
}

export interface LogConsumer extends LogPositions {
  readonly name: string;
  /**
   * Deals with a batch; the next one of its partition waits. When it throws, the log asks `positionOf` again and
   * reads on from there after a pause, for ever: what can't be dealt with must be set aside by the handler.
   * The same entries may come twice, after a failure or when another process takes a partition over.
   */
  handle(batch: LogBatch): Promise<void>;
}

export interface Subscription {
  /**
   * When the subscription last did anything: looked at the log, began or ended a handler's attempt. One that is
   * alive is never more than a few seconds behind, a long handler apart; an older time means that it is stuck.
   */
  lastActiveAt(): Date;
  /** Resolves with the reason when it will never read again although nobody stopped it; otherwise never. */
  readonly died: Promise<Error>;
  /** Resolves when no handler runs and none will. */
  stop(): Promise<void>;
}

/** A consumer's batch, or its position, failed; the log tries again after `retryInMs`. */
export interface ConsumerFailure {
  readonly consumer: string;
  readonly partition: number;
  /** Offset of the first and last entry of the batch, where the handler had one. */
  readonly offsets?: readonly [first: bigint, last: bigint];
  readonly error: unknown;
  /** 1 for the first failure in a row. */
  readonly attempt: number;
  readonly retryInMs: number;
}

/** Where failures are told; a log has no other way to speak. */
export type FailureListener = (failure: ConsumerFailure) => void;

export type ReportLogErrorCode = 'report-log-full' | 'report-log-unavailable' | 'report-log-closed';

/** An append that was not acknowledged. */
export class ReportLogError extends Error {
  constructor(
    readonly code: ReportLogErrorCode,
    message: string,
    /** Seconds after which another try makes sense. */
    readonly retryAfterSeconds: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'ReportLogError';
  }
}
