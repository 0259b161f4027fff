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
  const distinct: StorableEntry[] = [];
  let last: StorableEntry | undefined;
  for (const place of placesById(entries)) {
    const entry = entries[place];
    if (last !== undefined && compareIds(last, entry) === 0) continue;
    distinct.push((last = entry));
  }
  return distinct;
}

/**
 * The places of the entries in the order of their ids; of several under one id, the first comes first.
 *
 * Numbers are sorted many times as fast as objects that a function compares. So each entry becomes one: as much of its
 * id's beginning as fits, then its place, in the 53 bits that a double keeps.
 */
function placesById(entries: readonly StorableEntry[]): Uint32Array {
  const places = 2 ** Math.ceil(Math.log2(entries.length));
  const share = Math.min(1, 2 ** (53 - BEGINNING_BITS) / places);
  const numbers = new Float64Array(entries.length);
  for (let i = 0; i < entries.length; i++) {
    numbers[i] = Math.floor(beginningOf(entries[i].report.id) * share) * places + i;
  }
  numbers.sort();
  const order = new Uint32Array(entries.length);
  let begin = 0;
  for (let i = 0; i < numbers.length; i++) {
    order[i] = numbers[i] % places;
    if (i + 1 < numbers.length && Math.floor(numbers[i] / places) === Math.floor(numbers[i + 1] / places))
      continue;
    // Ids that begin alike: mostly those that are alike.
    if (begin < i) order.subarray(begin, i + 1).sort((a, b) => compareIds(entries[a], entries[b]) || a - b);
    begin = i + 1;
  }
  return order;
}

const compareIds = (a: StorableEntry, b: StorableEntry): number =>
  beginningOf(a.report.id) - beginningOf(b.report.id) || Buffer.compare(a.report.id, b.report.id);

const BEGINNING_BITS = 48;
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
  let begin = 0;
  let at = HEADER.length;
  let last: { part: FixedPart; payloadBytes: number; arrived: number } | undefined;
  for (const { report, arrivedAt } of entries) {
    const { id, payload } = report;
    const part = fixed.of(report.task, report.artifact);
    const arrived = arrivedAt.getTime();
    const isAlike =
      last !== undefined &&
      part === last.part &&
      payload.length === last.payloadBytes &&
      arrived === last.arrived;
    // Most rows are like the one before but for id and payload.
    if (isAlike) rows.copyWithin(at, begin, at);
    else writeFrame(rows, at, part, payload.length, arrived);
    if (!isAlike) last = { part, payloadBytes: payload.length, arrived };
    begin = at;
    rows.set(id, (at += part.beforeId.length));
    rows.set(payload, (at += REPORT_ID_BYTES + part.beforePayload.length + 4));
    at += payload.length + 4 + TIMESTAMP_BYTES;
  }
  rows.set(TRAILER, at);
  return rows;
}

/** All of a row but id and payload. */
function writeFrame(rows: Buffer, at: number, part: FixedPart, payloadBytes: number, arrived: number): void {
  rows.set(part.beforeId, at);
  at += part.beforeId.length + REPORT_ID_BYTES;
  rows.set(part.beforePayload, at);
  at = rows.writeInt32BE(payloadBytes, at + part.beforePayload.length);
  at = rows.writeInt32BE(TIMESTAMP_BYTES, at + payloadBytes);
  rows.writeBigInt64BE((BigInt(arrived) - EPOCH) * 1000n, at);
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
