import { z } from 'zod';
import { LIMITS, REPORT_ID_BYTES } from './limits';

/** What {@link TaskName} and {@link ArtifactId} match. */
export const TEXT_RULES = {
  task: /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/,
  artifact: /^[0-9a-f]{64}$/,
} as const;

/** Name of a task in URLs and reports. */
export const TaskName = z.string({ error: 'must be text' }).regex(TEXT_RULES.task, {
  error: 'must be 1 to 64 of a-z, 0-9 and "-", with no "-" at either end',
});

/** SHA-256 of an artifact's canonical bytes. */
export const ArtifactId = z
  .string({ error: 'must be text' })
  .regex(TEXT_RULES.artifact, { error: 'must be 64 lower-case hex digits (a SHA-256)' });

/** An Ed25519 public key. */
export const SignerKey = z
  .string({ error: 'must be text' })
  .regex(/^[0-9a-f]{64}$/, { error: 'must be 64 lower-case hex digits (an Ed25519 public key)' });

const Bytes = z.custom<Uint8Array>((value) => value instanceof Uint8Array, {
  error: 'must be a byte string',
  abort: true,
});

const ReportId = Bytes.refine((id) => id.length === REPORT_ID_BYTES, {
  error: (issue) => `must be ${REPORT_ID_BYTES} bytes, not ${(issue.input as Uint8Array).length}`,
});

const Payload = Bytes.refine((p) => p.length >= 1 && p.length <= LIMITS.maximumPayloadBytes, {
  error: (issue) =>
    `must be 1 to ${LIMITS.maximumPayloadBytes} bytes, not ${(issue.input as Uint8Array).length}`,
});

/**
 * One randomised record: what a device sends, what the log carries, what the table keeps. The payload is opaque
 * here: only the artifact's randomiser knows its shape. Retries send the same bytes under the same id.
 */
export const Report = z.strictObject({
  id: ReportId,
  task: TaskName,
  payload: Payload,
  artifact: ArtifactId,
});
export type Report = z.infer<typeof Report>;

const hexBytes = z.codec(
  z
    .string({ error: 'must be text' })
    .regex(/^(?:[0-9a-f]{2})*$/, { error: 'must be lower-case hex digits, two a byte' }),
  ReportId,
  { decode: (text) => z.util.hexToUint8Array(text), encode: (bytes) => z.util.uint8ArrayToHex(bytes) },
);

const base64Bytes = z.codec(z.base64({ error: 'must be base64 text with padding' }), Payload, {
  decode: (text) => z.util.base64ToUint8Array(text),
  encode: (bytes) => z.util.uint8ArrayToBase64(bytes),
});

/** A report as JSON: the id as 32 hex digits, the payload as base64. Decodes to {@link Report}. */
export const ReportJson = z.strictObject({
  id: hexBytes,
  task: TaskName,
  payload: base64Bytes,
  artifact: ArtifactId,
});
export type ReportJson = z.input<typeof ReportJson>;
