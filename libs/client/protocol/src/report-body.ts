import { z } from 'zod';
import { CborReader, type CborItem } from './cbor-reader';
import {
  type CanonicalReport,
  readCanonicalBody,
  readCanonicalReport,
  writeBatch,
  writeReport,
} from './canonical-report';
import { LIMITS, REPORT_ID_BYTES } from './limits';
import { MEDIA_TYPES, type ReportMediaType, reportMediaType } from './media-type';
import { ProtocolError } from './protocol-error';
import { type Rejection } from './receipt';
import { Report, ReportJson } from './report';

/** What became of one report of a body: it is well-formed, or it is refused while its neighbours stand. */
export type ReportOutcome =
  | {
      readonly index: number;
      readonly report: Report;
      /** The report as {@link encodeReport} writes it; a view of the body where it came so. */
      readonly encoded: Uint8Array;
      readonly rejection?: undefined;
    }
  | {
      readonly index: number;
      readonly report?: undefined;
      readonly encoded?: undefined;
      readonly rejection: Rejection;
    };

/**
 * Reads a request body: one report, or `{ reports: [...] }`. A report that breaks the format becomes a
 * `malformed` rejection at its index; byte strings are views of `body`.
 *
 * In CBOR, a field that occurs twice is refused; JSON keeps the last, as `JSON.parse` does.
 *
 * @param body at most `LIMITS.maximumBodyBytes`
 * @param contentType the `Content-Type` header
 * @throws ProtocolError where the body as a whole is no batch: `body-too-large`, `batch-too-large`, `empty-batch`,
 *   `malformed-body` (truncated, trailing bytes, not the media type it says), `unsupported-media-type`
 */
export function decodeBatch(body: Uint8Array, contentType: string | undefined): ReportOutcome[] {
  const mediaType = reportMediaType(contentType);
  if (body.length > LIMITS.maximumBodyBytes)
    throw new ProtocolError(
      'body-too-large',
      `the body has ${body.length} bytes; at most ${LIMITS.maximumBodyBytes} are taken: send smaller batches`,
    );
  return mediaType === MEDIA_TYPES.json ? reportOutcomes(parseJson(body)) : readCborBody(body);
}

/**
 * The same for a JSON body that is parsed already.
 *
 * @throws ProtocolError as {@link decodeBatch}
 */
export function reportOutcomes(value: unknown): ReportOutcome[] {
  if (!isRecord(value))
    throw malformedBody(`expected a report or { "reports": [...] }, found ${nameOf(value)}`);
  if (!Object.hasOwn(value, 'reports')) return [judge(0, value, ReportJson)];
  if (Object.keys(value).length > 1) throw malformedBody('an object with "reports" has no other field');
  if (!Array.isArray(value.reports))
    throw malformedBody(`reports: must be an array, not ${nameOf(value.reports)}`, 'reports');
  checkBatchSize(value.reports.length);
  return value.reports.map((report: unknown, index) => judge(index, report, ReportJson));
}

/**
 * Reads a body of which every report must be well-formed.
 *
 * @throws ProtocolError as {@link decodeBatch}, and `malformed-report` naming the first bad report and its field
 */
export function decodeReports(body: Uint8Array, contentType: string | undefined): Report[] {
  return decodeBatch(body, contentType).map(({ index, report, rejection }) => {
    if (rejection) throw new ProtocolError('malformed-report', rejection.detail, `reports[${index}]`);
    return report;
  });
}

/**
 * A batch body. In CBOR the bytes are canonical.
 *
 * @throws ProtocolError `malformed-report`, `empty-batch` or `batch-too-large`
 */
export function encodeReports(
  reports: readonly Report[],
  mediaType: ReportMediaType = MEDIA_TYPES.cbor,
): Uint8Array {
  if (mediaType === MEDIA_TYPES.cbor) return joinReports(reports.map(encodeReport));
  checkBatchSize(reports.length);
  const text = JSON.stringify({ reports: reports.map((r) => z.encode(ReportJson, checked(r))) });
  return new TextEncoder().encode(text);
}

/** One report as canonical CBOR: the same report always has the same bytes. The log carries these. */
export function encodeReport(report: Report): Uint8Array {
  return writeReport(checked(report));
}

/**
 * Reads one report from CBOR.
 *
 * @throws ProtocolError `malformed-report` naming field and rule, or `malformed-body` for bytes that aren't CBOR
 */
export function decodeReport(bytes: Uint8Array): Report {
  const plain = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const canonical = readCanonicalReport(plain);
  if (canonical?.isValid) return canonical.fields;
  const { report, rejection } = validated(canonical?.fields ?? readGeneral(plain), Report);
  if (rejection) throw new ProtocolError('malformed-report', rejection.detail);
  return report;
}

function readGeneral(bytes: Uint8Array): unknown {
  const reader = new CborReader(bytes);
  const value = readValue(reader, reader.next());
  reader.end();
  return value;
}

/**
 * A batch body around reports that {@link encodeReport} made, byte for byte as they are.
 *
 * @throws ProtocolError `empty-batch` or `batch-too-large`
 */
export function joinReports(encoded: readonly Uint8Array[]): Uint8Array {
  checkBatchSize(encoded.length);
  return writeBatch(encoded);
}

/** Fields of a CBOR map that is no valid report, whatever its fields. */
class BrokenMap {
  constructor(
    readonly fields: Record<string, unknown>,
    readonly fault: string,
  ) {}
}

/** Stands for a value that no field of a report can have; its content was passed over. */
const NESTED = Symbol('nested');

function readCborBody(body: Uint8Array): ReportOutcome[] {
  const plain = new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  const canonical = readCanonicalBody(plain, LIMITS.maximumBatch);
  return canonical?.map(outcomeOf) ?? readGeneralBody(plain);
}

function outcomeOf(canonical: CanonicalReport, index: number): ReportOutcome {
  const { fields, isValid } = canonical;
  return isValid ? { index, report: fields, encoded: canonical.encoded } : judge(index, fields, Report);
}

/** Any CBOR body, at the pace of a general codec; exported as the slow twin of the straight path. */
export function readGeneralBody(body: Uint8Array): ReportOutcome[] {
  const reader = new CborReader(body);
  const top = reader.next();
  if (top.kind !== 'map')
    throw malformedBody(`expected a report or a map with "reports", found ${nameOfItem(top)}`);
  if (top.count === 0) throw malformedBody('expected a report or a map with "reports", found an empty map');
  const first = reader.next();
  const isBatch = first.kind === 'text' && first.value === 'reports';
  const outcomes = isBatch ? readBatch(reader, top.count) : [readSingle(reader, top.count, first)];
  reader.end();
  return outcomes;
}

function readSingle(reader: CborReader, count: number, firstKey: CborItem): ReportOutcome {
  const map = readMap(reader, count, firstKey);
  if ('reports' in (map instanceof BrokenMap ? map.fields : map))
    throw malformedBody('a map with "reports" has no other field');
  return judge(0, map, Report);
}

function readBatch(reader: CborReader, fields: number): ReportOutcome[] {
  const list = reader.next();
  if (list.kind !== 'array')
    throw malformedBody(`reports: must be an array, not ${nameOfItem(list)}`, 'reports');
  checkBatchSize(list.count);
  const outcomes: ReportOutcome[] = [];
  for (let index = 0; index < list.count; index++)
    outcomes.push(judge(index, readValue(reader, reader.next()), Report));
  if (fields > 1) throw malformedBody('a map with "reports" has no other field');
  return outcomes;
}

function readValue(reader: CborReader, item: CborItem): unknown {
  if (item.kind === 'map') return readMap(reader, item.count);
  reader.skipContent(item);
  return 'value' in item ? item.value : NESTED;
}

function readMap(
  reader: CborReader,
  count: number,
  firstKey?: CborItem,
): Record<string, unknown> | BrokenMap {
  const fields: Record<string, unknown> = Object.create(null);
  let fault: string | undefined;
  for (let i = 0; i < count; i++) {
    const key = i === 0 && firstKey ? firstKey : reader.next();
    reader.skipContent(key);
    const item = reader.next();
    reader.skipContent(item);
    if (key.kind !== 'text') fault ??= `field names must be text, not ${nameOfItem(key)}`;
    else if (key.value in fields) fault ??= `${quote(key.value)}: occurs twice`;
    else fields[key.value] = 'value' in item ? item.value : NESTED;
  }
  return fault === undefined ? fields : new BrokenMap(fields, fault);
}

type Judgement =
  | { readonly report: Report; readonly rejection?: undefined }
  | { readonly report?: undefined; readonly rejection: Omit<Rejection, 'index'> };

function judge(index: number, value: unknown, schema: typeof Report | typeof ReportJson): ReportOutcome {
  const { report, rejection } = validated(value, schema);
  return report
    ? { index, report, encoded: writeReport(report) }
    : { index, rejection: { index, ...rejection } };
}

function validated(value: unknown, schema: typeof Report | typeof ReportJson): Judgement {
  if (value instanceof BrokenMap) return reject(value.fields, value.fault);
  if (!isRecord(value)) return reject({}, `must be a map of fields, not ${nameOf(value)}`);
  const result = schema.safeParse(value);
  return result.success ? { report: result.data } : reject(value, describe(result.error.issues[0], value));
}

function reject(fields: Record<string, unknown>, detail: string): Judgement {
  return { rejection: { id: readableId(fields.id), reason: 'malformed', detail } };
}

function readableId(id: unknown): string | null {
  if (id instanceof Uint8Array) return id.length === REPORT_ID_BYTES ? z.util.uint8ArrayToHex(id) : null;
  return typeof id === 'string' && /^[0-9a-f]{32}$/.test(id) ? id : null;
}

function describe(issue: z.core.$ZodIssue, fields: Record<string, unknown>): string {
  if (issue.code === 'unrecognized_keys') return `${quote(issue.keys[0])}: no such field`;
  const field = String(issue.path[0]);
  if (!(field in fields)) return `${field}: is missing`;
  const value = fields[field];
  const isName = typeof value === 'string' && (field === 'task' || field === 'artifact');
  return `${field}: ${issue.message}${isName ? `, not ${quote(value)}` : ''}`;
}

function checked(report: Report): Report {
  const { report: valid, rejection } = validated(report, Report);
  if (rejection) throw new ProtocolError('malformed-report', rejection.detail);
  return valid;
}

function checkBatchSize(count: number): void {
  if (count === 0)
    throw new ProtocolError('empty-batch', 'reports: must hold at least one report', 'reports');
  if (count > LIMITS.maximumBatch)
    throw new ProtocolError(
      'batch-too-large',
      `reports: holds ${count} reports; at most ${LIMITS.maximumBatch} are taken: send smaller batches`,
      'reports',
    );
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    throw malformedBody(`the body isn't well-formed JSON: ${(error as Error).message}`);
  }
}

function malformedBody(detail: string, field?: string): ProtocolError {
  return new ProtocolError('malformed-body', detail, field);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  );
}

/** Someone else's text, cut short for a message. */
function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (value instanceof Uint8Array) return 'a byte string';
  return value === NESTED ? 'a nested value' : `a ${typeof value}`;
}

function nameOfItem(item: CborItem): string {
  return item.kind === 'bytes' ? 'a byte string' : item.kind === 'array' ? 'an array' : `a ${item.kind}`;
}
