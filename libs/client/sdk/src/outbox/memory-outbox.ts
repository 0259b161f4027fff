import type { Outbox, OutboxEntry, OutboxRejection } from './outbox';

/** An outbox that forgets when the process ends: for simulations, and for records that end with the process too. */
export class MemoryOutbox implements Outbox {
  /** By id, oldest first. */
  readonly #entries = new Map<string, OutboxEntry>();
  readonly #idOfRecord = new Map<string, string>();

  async keep(entry: OutboxEntry): Promise<OutboxEntry> {
    const record = recordOf(entry.recordKey, entry.artifact);
    const kept = this.#idOfRecord.get(record);
    if (kept !== undefined) return this.#entries.get(kept)!;
    const own = Object.freeze({ ...entry, bytes: entry.bytes.slice() });
    this.#entries.set(entry.id, own);
    this.#idOfRecord.set(record, entry.id);
    return own;
  }

  async find(recordKey: string, artifact: string): Promise<OutboxEntry | undefined> {
    const id = this.#idOfRecord.get(recordOf(recordKey, artifact));
    return id === undefined ? undefined : this.#entries.get(id);
  }

  async waiting(task: string): Promise<readonly OutboxEntry[]> {
    return [...this.#entries.values()].filter((entry) => entry.task === task && entry.state === 'waiting');
  }

  async acknowledge(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#change(id, { state: 'acknowledged' });
  }

  async reject(id: string, rejection: OutboxRejection): Promise<void> {
    this.#change(id, { state: 'rejected', rejection });
  }

  #change(id: string, change: Pick<OutboxEntry, 'state' | 'rejection'>): void {
    const entry = this.#entries.get(id);
    if (entry) this.#entries.set(id, Object.freeze({ ...entry, ...change }));
  }
}

function recordOf(recordKey: string, artifact: string): string {
  return `${artifact}/${recordKey}`;
}
