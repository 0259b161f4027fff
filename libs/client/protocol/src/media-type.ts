import { ProtocolError } from './protocol-error';

/** The two encodings of a report body. CBOR is the one that devices use; JSON is its readable twin. */
export const MEDIA_TYPES = { cbor: 'application/cbor', json: 'application/json' } as const;

export type ReportMediaType = (typeof MEDIA_TYPES)[keyof typeof MEDIA_TYPES];

/** Media type of an RFC 9457 problem document. */
export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/**
 * Reads a `Content-Type` header, parameters and letter case ignored.
 *
 * @throws ProtocolError `unsupported-media-type` for anything but CBOR and JSON, and where the header is absent.
 */
export function reportMediaType(contentType: string | undefined): ReportMediaType {
  const name = (contentType ?? '').split(';', 1)[0].trim().toLowerCase();
  if (name === MEDIA_TYPES.cbor || name === MEDIA_TYPES.json) return name;
  throw new ProtocolError(
    'unsupported-media-type',
    `reports are taken as ${MEDIA_TYPES.cbor} or ${MEDIA_TYPES.json}, not as ${name === '' ? 'a body without Content-Type' : name}`,
  );
}
