/** Why a report will never be stored: the gateway's word on it. */
export interface OutboxRejection {
  /** A rejection reason or problem kind of the protocol. */
  readonly reason: string;
  readonly detail: string;
}

/** One drawn report. Its bytes never change, and no other is ever drawn for the same record and artifact. */
export interface OutboxEntry {
  readonly recordKey: string;
  readonly artifact: string;
  readonly task: string;
  /** The report's id, 32 hex digits. */
  readonly id: string;
  /** The report in canonical CBOR. */
  readonly bytes: Uint8Array;
  readonly state: 'waiting' | 'acknowledged' | 'rejected';
  /** Where `state` is `rejected`. */
  readonly rejection?: OutboxRejection;
}

/**
 * The device's memory of what it drew. It must outlast whatever the record does: a record whose entry is lost is drawn
 * again, and two draws spend ε twice. So entries stay after they are acknowledged or rejected, and each promise
 * resolves only when the change is durable.
 */
export interface Outbox {
  /**
   * Keeps `entry`, unless one of the same record key and artifact is there. Atomic.
   *
   * @returns the entry that is kept: the first one
   */
  keep(entry: OutboxEntry): Promise<OutboxEntry>;
  find(recordKey: string, artifact: string): Promise<OutboxEntry | undefined>;
  /** A task's waiting entries, oldest first. */
  waiting(task: string): Promise<readonly OutboxEntry[]>;
  /** The reports of these ids are with the gateway. */
  acknowledge(ids: readonly string[]): Promise<void>;
  reject(id: string, rejection: OutboxRejection): Promise<void>;
}
