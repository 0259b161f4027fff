import { SequenceEvents } from 'cbor2/decoder';
import { LIMITS } from './limits';
import { ProtocolError } from './protocol-error';

/** One head of the stream: a whole scalar, or the start of a container whose content follows. */
export type CborItem =
  | { kind: 'bytes'; value: Uint8Array }
  | { kind: 'text'; value: string }
  | { kind: 'array'; count: number }
  | { kind: 'map'; count: number }
  | { kind: 'tag' }
  | { kind: 'scalar'; value: unknown };

const MAJOR = { bytes: 2, text: 3, array: 4, map: 5, tag: 6 } as const;
const INDEFINITE = 31;
const MAXIMUM_DEPTH = 16;
/** Twice what the largest honest batch has: bounds the work that a body of many tiny items can ask for. */
const MAXIMUM_ITEMS = 2 * 9 * LIMITS.maximumBatch;

/**
 * Pulls heads out of CBOR one by one, so that a body is judged while it is read: nothing is allocated for what
 * a length merely declares. Definite lengths in shortest form only.
 *
 * Every method throws ProtocolError `malformed-body`, which says so where the body is truncated.
 */
export class CborReader {
  readonly #events: SequenceEvents;
  readonly #length: number;
  #items = 0;

  constructor(body: Uint8Array) {
    // A Buffer's subarrays are Buffers: read through a plain view, so that a report never holds one.
    const plain = new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
    this.#length = plain.length;
    this.#events = new SequenceEvents(plain, { maxDepth: MAXIMUM_DEPTH, requirePreferred: true });
  }

  next(): CborItem {
    const event = this.#read();
    if (event === undefined) throw malformed('the body is empty');
    if (++this.#items > MAXIMUM_ITEMS) throw malformed(`the body has more than ${MAXIMUM_ITEMS} CBOR items`);
    const [major, info, value] = event;
    if (info === INDEFINITE)
      throw malformed('indefinite lengths are not taken: encode every length as a number');
    switch (major) {
      case MAJOR.bytes:
        return { kind: 'bytes', value: value as Uint8Array };
      case MAJOR.text:
        return { kind: 'text', value: value as string };
      case MAJOR.array:
        return { kind: 'array', count: value as number };
      case MAJOR.map:
        return { kind: 'map', count: value as number };
      case MAJOR.tag:
        return { kind: 'tag' };
      default:
        return { kind: 'scalar', value };
    }
  }

  /** Passes over what is inside `item`; nothing to do for a scalar. */
  skipContent(item: CborItem): void {
    let open = contentOf(item);
    while (open > 0) open += contentOf(this.next()) - 1;
  }

  /** To be called after the one top-level item. */
  end(): void {
    let more: unknown;
    try {
      more = this.#events.read();
    } catch {
      more = true;
    }
    if (more !== undefined) throw malformed('there are trailing bytes after the CBOR item');
  }

  #read() {
    try {
      return this.#events.read();
    } catch (error) {
      throw this.#explain(error as Error);
    }
  }

  #explain(error: Error): ProtocolError {
    // cbor2 reads past the end through DataView (RangeError) or subarray, and adds a 64-bit length as a BigInt.
    const pastTheEnd =
      error.name === 'RangeError' ||
      error.message.startsWith('Unexpected end of stream') ||
      error.message.includes('BigInt');
    if (pastTheEnd)
      return malformed(`the CBOR is truncated: its ${this.#length} bytes end in the middle of an item`);
    if (error.message.startsWith('Maximum depth')) return malformed('the CBOR is nested too deeply');
    if (error.message.includes('utf-8')) return malformed("the CBOR holds a text that isn't UTF-8");
    return malformed(`the body isn't well-formed CBOR: ${error.message}`);
  }
}

function contentOf(item: CborItem): number {
  switch (item.kind) {
    case 'array':
      return item.count;
    case 'map':
      return 2 * item.count;
    case 'tag':
      return 1;
    default:
      return 0;
  }
}

function malformed(detail: string): ProtocolError {
  return new ProtocolError('malformed-body', detail);
}
