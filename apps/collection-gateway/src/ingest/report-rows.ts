import { REPORT_ID_BYTES } from '@undertone/protocol';

import { type StorableEntry } from './entry-check';

/**
 * By task, one entry for each report id, the first in the log; ordered by task and id. Writers that insert in one
 * order can wait for each other, but never in a circle.
 */
export function distinctReports(entries: readonly StorableEntry[]): Map<string, StorableEntry[]> {
  const tasks = new Map<string, StorableEntry[]>();
  for (const entry of entries) {
    const ofTask = tasks.get(entry.report.task);
    if (ofTask === undefined) tasks.set(entry.report.task, [entry]);
    else ofTask.push(entry);
  }
  return new Map([...tasks.keys()].sort().map((task) => [task, distinctOfTask(tasks.get(task)!)]));
}

function distinctOfTask(entries: readonly StorableEntry[]): StorableEntry[] {
  // Numbers compare several times as fast as bytes, and of two different random ids they nearly always differ.
  const beginnings = Float64Array.from(entries, ({ report }) => beginningOf(report.id));
  const compareIds = (a: number, b: number): number =>
    beginnings[a] - beginnings[b] || Buffer.compare(entries[a].report.id, entries[b].report.id);
  const order = Uint32Array.from(entries, (_, i) => i).sort((a, b) => compareIds(a, b) || a - b);
  const distinct: StorableEntry[] = [];
  order.forEach((entry, i) => {
    if (i === 0 || compareIds(order[i - 1], entry) !== 0) distinct.push(entries[entry]);
  });
  return distinct;
}

/** The first six bytes, as many as a double can tell apart. */
const beginningOf = (id: Uint8Array): number =>
  ((id[0] << 16) | (id[1] << 8) | id[2]) * 0x1000000 + ((id[3] << 16) | (id[4] << 8) | id[5]);

// PostgreSQL's binary format of COPY: signature, flags, length of the extension; then rows; then -1 instead of a row.
const HEADER = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)]);
const TRAILER = Buffer.from([0xff, 0xff]);
const COLUMNS = 5;
const TIMESTAMP_BYTES = 8;
/** Milliseconds since 1970 at which PostgreSQL's time begins. */
const EPOCH = BigInt(Date.UTC(2000, 0));

/** The columns task, id, artifact, payload and received_at of the reports, as COPY takes them in binary. */
export function encodeRows(entries: readonly StorableEntry[]): Buffer {
  const fixed = new FixedParts();
  let size = HEADER.length + TRAILER.length;
  for (const { report } of entries) {
    const { beforeId, beforePayload } = fixed.of(report.task, report.artifact);
    size += beforeId.length + REPORT_ID_BYTES + beforePayload.length;
    size += 4 + report.payload.length + 4 + TIMESTAMP_BYTES;
  }
  const rows = Buffer.allocUnsafe(size);
  rows.set(HEADER);
  let at = HEADER.length;
  let arrived = NaN;
  let timestamp = 0n;
  for (const { report, arrivedAt } of entries) {
    const { beforeId, beforePayload } = fixed.of(report.task, report.artifact);
    rows.set(beforeId, at);
    rows.set(report.id, (at += beforeId.length));
    rows.set(beforePayload, (at += REPORT_ID_BYTES));
    at = rows.writeInt32BE(report.payload.length, at + beforePayload.length);
    rows.set(report.payload, at);
    at = rows.writeInt32BE(TIMESTAMP_BYTES, at + report.payload.length);
    // Many entries arrive together.
    if (arrivedAt.getTime() !== arrived) {
      arrived = arrivedAt.getTime();
      timestamp = (BigInt(arrived) - EPOCH) * 1000n;
    }
    at = rows.writeBigInt64BE(timestamp, at);
  }
  rows.set(TRAILER, at);
  return rows;
}

interface FixedPart {
  readonly beforeId: Uint8Array;
  readonly beforePayload: Uint8Array;
}

/** What the rows of one task under one artifact have in common. */
class FixedParts {
  private readonly parts = new Map<string, FixedPart>();
  private last: { task: string; artifact: string; part: FixedPart } | undefined;

  of(task: string, artifact: string): FixedPart {
    if (this.last?.task === task && this.last.artifact === artifact) return this.last.part;
    const key = `${task}/${artifact}`;
    const part = this.parts.get(key) ?? fixedPart(task, artifact);
    this.parts.set(key, part);
    this.last = { task, artifact, part };
    return part;
  }
}

function fixedPart(task: string, artifact: string): FixedPart {
  const columns = Buffer.alloc(2);
  columns.writeInt16BE(COLUMNS);
  return {
    beforeId: Buffer.concat([columns, field(task), length(REPORT_ID_BYTES)]),
    beforePayload: field(artifact),
  };
}

function length(bytes: number): Buffer {
  const encoded = Buffer.alloc(4);
  encoded.writeInt32BE(bytes);
  return encoded;
}

function field(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([length(bytes.length), bytes]);
}
