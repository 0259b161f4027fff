import { LIMITS } from '@undertone/protocol';
import type { OutboxEntry } from '../outbox/outbox';

/** At least what a batch has besides its reports. */
const ENVELOPE_BYTES = 32;

/** Cuts entries, in their order, into batches within `size` and the protocol's limits. */
export function cutIntoBatches(entries: readonly OutboxEntry[], size: number): OutboxEntry[][] {
  const batches: OutboxEntry[][] = [];
  let bytes = Infinity;
  for (const entry of entries) {
    const last = batches[batches.length - 1];
    if (!last || last.length >= size || bytes + entry.bytes.length > LIMITS.maximumBodyBytes) {
      batches.push([entry]);
      bytes = ENVELOPE_BYTES + entry.bytes.length;
    } else {
      last.push(entry);
      bytes += entry.bytes.length;
    }
  }
  return batches;
}
