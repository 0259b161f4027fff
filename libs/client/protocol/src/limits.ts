/**
 * What one request may carry. Both sides keep to them: the sdk cuts its batches by them, the gateway refuses
 * what is above them.
 */
export const LIMITS = {
  /** Reports in one batch. */
  maximumBatch: 1000,
  /** Bytes of one request body, after any transfer coding. */
  maximumBodyBytes: 1024 * 1024,
  /** Bytes of one report's payload. */
  maximumPayloadBytes: 64 * 1024,
  /** Bytes of one report as canonical CBOR: the payload, and more than the other fields ever take. */
  maximumReportBytes: 65 * 1024,
} as const;

/** Names the form in which the log carries a report: canonical CBOR, as `encodeReport` makes it. */
export const REPORT_SCHEMA = 'undertone.report.v1';

/** Bytes of a report id. Random, so that an id links a report to nothing but its own retries. */
export const REPORT_ID_BYTES = 16;
