import { ArtifactError } from '../artifact-error';

/** As PNG's: a high byte, CR LF and a lone LF tell a file that was sent as text. */
const MAGIC = Uint8Array.of(0x89, 0x55, 0x54, 0x41, 0x0d, 0x0a, 0x1a, 0x0a);
export const FORMAT_VERSION = 1;

const PREFIX_BYTES = MAGIC.length + 2 + 4 + 4;
const ED25519 = 1;
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
const SIGNATURE_BLOCK_BYTES = 1 + KEY_BYTES + SIGNATURE_BYTES;

/**
 * The parts of a file. `content` is what the id is the SHA-256 of:
 *
 * | bytes | what |
 * |---|---|
 * | 8 | magic |
 * | 2 | format version, little-endian, like every number here |
 * | 4, 4 | length of header and of weights |
 * | … | header: the body in deterministic CBOR |
 * | … | weights: float32, kernel `[in, out]` row-major then bias, layer by layer |
 *
 * and behind it, outside the id: 1 byte signature kind (1 = Ed25519), 32 bytes public key, 64 bytes signature.
 * All are views of the file.
 */
export interface FileParts {
  readonly content: Uint8Array;
  readonly header: Uint8Array;
  readonly weights: Uint8Array;
  readonly signer: Uint8Array;
  readonly signature: Uint8Array;
}

export function joinContent(header: Uint8Array, weights: readonly Float32Array[]): Uint8Array {
  const weightBytes = weights.reduce((sum, w) => sum + w.length * 4, 0);
  const content = new Uint8Array(PREFIX_BYTES + header.length + weightBytes);
  const view = new DataView(content.buffer);
  content.set(MAGIC);
  view.setUint16(MAGIC.length, FORMAT_VERSION, true);
  view.setUint32(MAGIC.length + 2, header.length, true);
  view.setUint32(MAGIC.length + 6, weightBytes, true);
  content.set(header, PREFIX_BYTES);
  let at = PREFIX_BYTES + header.length;
  for (const array of weights) {
    for (let i = 0; i < array.length; i++, at += 4) view.setFloat32(at, array[i], true);
  }
  return content;
}

export function joinFile(content: Uint8Array, signer: Uint8Array, signature: Uint8Array): Uint8Array {
  const file = new Uint8Array(content.length + SIGNATURE_BLOCK_BYTES);
  file.set(content);
  file[content.length] = ED25519;
  file.set(signer, content.length + 1);
  file.set(signature, content.length + 1 + KEY_BYTES);
  return file;
}

/**
 * Finds the parts by the lengths in the prefix, which are only compared with the file's, never allocated.
 *
 * @throws ArtifactError `damaged`, `unsigned` or `future-version`.
 */
export function splitFile(file: Uint8Array): FileParts {
  if (file.length < PREFIX_BYTES || MAGIC.some((byte, i) => file[i] !== byte)) {
    throw new ArtifactError('damaged', "the file doesn't start as an Undertone artifact does");
  }
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  requireVersion(view.getUint16(MAGIC.length, true));
  const headerEnd = PREFIX_BYTES + view.getUint32(MAGIC.length + 2, true);
  const contentEnd = headerEnd + view.getUint32(MAGIC.length + 6, true);
  if (file.length === contentEnd) {
    throw new ArtifactError('unsigned', 'the artifact carries no signature: only signed artifacts are used');
  }
  const expected = contentEnd + SIGNATURE_BLOCK_BYTES;
  if (file.length !== expected) {
    throw new ArtifactError(
      'damaged',
      `the file has ${file.length} bytes and says that it has ${expected}: it was cut short or changed; fetch it again`,
    );
  }
  if (file[contentEnd] !== ED25519) {
    throw new ArtifactError(
      'damaged',
      `signature kind ${file[contentEnd]} is unknown: it must be ${ED25519} (Ed25519)`,
    );
  }
  return {
    content: file.subarray(0, contentEnd),
    header: file.subarray(PREFIX_BYTES, headerEnd),
    weights: file.subarray(headerEnd, contentEnd),
    signer: file.subarray(contentEnd + 1, contentEnd + 1 + KEY_BYTES),
    signature: file.subarray(contentEnd + 1 + KEY_BYTES),
  };
}

function requireVersion(version: number): void {
  if (version > FORMAT_VERSION) {
    throw new ArtifactError(
      'future-version',
      `the artifact has format version ${version} and this program reads up to ${FORMAT_VERSION}: update it`,
    );
  }
  if (version !== FORMAT_VERSION) {
    throw new ArtifactError('damaged', `format version ${version} doesn't exist`);
  }
}
