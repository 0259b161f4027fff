import { encodeReport, LIMITS, type RejectionReason, type Report, REPORT_SCHEMA } from '@undertone/protocol';

import { impossiblePayload, sampleReport, sampleTask } from './sample-task';

export const TASKS = [sampleTask('rain'), sampleTask('wind', { digit: 'b' })];
const [RAIN, WIND] = TASKS;

/** Those of the second task share ids with the first; the last three carry an id of the first with another body. */
export const REPORTS: readonly Report[] = [
  ...[0, 1, 2, 3, 4, 5].map((number) => sampleReport(RAIN, number)),
  ...[0, 6, 7].map((number) => sampleReport(WIND, number)),
  ...[0, 3, 3].map((number) => sampleReport(RAIN, number)),
];

/** What must become of a log entry: a report is stored, or repeats one; all else is set aside. */
export type Verdict =
  { readonly report: Report } | { readonly reason: RejectionReason; readonly task: string | null };

/** An entry of a writer that isn't the gateway. */
export interface ForeignEntry {
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  /** `undefined`: it says nothing about itself. */
  readonly schema: string | undefined;
  readonly verdict: Verdict;
}

interface Change {
  readonly key?: Uint8Array | null;
  readonly schema?: string;
  readonly task?: string;
}

const malformed = (
  value: Uint8Array | null,
  { key = Buffer.from('smuggled') }: Change = {},
): ForeignEntry => ({
  key,
  value,
  schema: REPORT_SCHEMA,
  verdict: { reason: 'malformed', task: null },
});

const refused = (reason: RejectionReason, report: Report, { task }: Change = {}): ForeignEntry => ({
  key: report.id,
  value: encodeReport(report),
  schema: REPORT_SCHEMA,
  verdict: { reason, task: task ?? null },
});

const noReport = (reason: RejectionReason, schema: string | undefined, value: Uint8Array): ForeignEntry => ({
  key: REPORTS[2].id,
  value,
  schema,
  verdict: { reason, task: null },
});

const partner = (report: Report, key: Uint8Array | null = report.id): ForeignEntry => ({
  key,
  value: encodeReport(report),
  schema: REPORT_SCHEMA,
  verdict: { report },
});

/** What every log can hold: bytes under the schema of reports. */
export const FOREIGN_VALUES: readonly ForeignEntry[] = [
  malformed(Buffer.from('not a report')),
  malformed(new Uint8Array(0)),
  malformed(encodeReport(REPORTS[0]).subarray(0, 20)),
  malformed(Buffer.concat([encodeReport(REPORTS[0]), Buffer.from([0])])),
  refused('wrong-task', { ...REPORTS[0], task: 'unknown' }),
  refused('wrong-artifact', { ...REPORTS[1], artifact: 'c'.repeat(64) }, { task: RAIN.name }),
  refused('impossible-payload', { ...REPORTS[6], payload: impossiblePayload() }, { task: WIND.name }),
  noReport('too-large', REPORT_SCHEMA, Buffer.alloc(LIMITS.maximumReportBytes + 1, 7)),
  partner(sampleReport(WIND, 8)),
  partner(sampleReport(RAIN, 1)),
  partner(sampleReport(RAIN, 4), Buffer.from('a key of its own')),
];

/** What a log whose entries have headers can hold, too. */
export const FOREIGN_MESSAGES: readonly ForeignEntry[] = [
  ...FOREIGN_VALUES,
  noReport('no-schema', undefined, encodeReport(REPORTS[2])),
  noReport('unknown-schema', 'undertone.report.v2', encodeReport(REPORTS[2])),
  noReport('unknown-schema', '', encodeReport(REPORTS[3])),
  noReport('too-large', REPORT_SCHEMA, Buffer.alloc(1_000_000, 'x')),
  malformed(null),
  malformed(null, { key: null }),
  partner(sampleReport(WIND, 9), null),
];

/** Random bytes: never a report. */
export const smuggledBytes = (bytes: Uint8Array): ForeignEntry => malformed(bytes, { key: bytes });
