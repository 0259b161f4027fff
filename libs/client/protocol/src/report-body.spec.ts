import { decode, encode } from 'cbor2';
import fc from 'fast-check';
import {
  decodeBatch,
  decodeReport,
  decodeReports,
  encodeReport,
  encodeReports,
  joinReports,
  LIMITS,
  MEDIA_TYPES,
  ProtocolError,
  type Report,
  reportOutcomes,
} from './index';
import { readGeneralBody } from './report-body';

const CBOR = MEDIA_TYPES.cbor;
const JSON_TYPE = MEDIA_TYPES.json;

const report = (over: Partial<Report> = {}): Report => ({
  id: new Uint8Array(16).fill(7),
  task: 'digits',
  payload: Uint8Array.of(1, 2, 3),
  artifact: 'ab'.repeat(32),
  ...over,
});

const bytes = (length: number | { minLength: number; maxLength: number }) =>
  fc.uint8Array(typeof length === 'number' ? { minLength: length, maxLength: length } : length);

const reports: fc.Arbitrary<Report> = fc.record({
  id: bytes(16),
  task: fc.stringMatching(/^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/),
  payload: bytes({ minLength: 1, maxLength: 700 }),
  artifact: bytes(32).map((b) => Buffer.from(b).toString('hex')),
});

const errorOf = (work: () => unknown): ProtocolError => {
  try {
    work();
  } catch (error) {
    if (error instanceof ProtocolError) return error;
    throw error;
  }
  throw new Error('expected a ProtocolError');
};

/** What comes of the work, or the message of its ProtocolError. */
const outcomeOf = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    if (error instanceof ProtocolError) return error.message;
    throw error;
  }
};

const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const asJson = (r: Report) => ({
  id: Buffer.from(r.id).toString('hex'),
  task: r.task,
  payload: Buffer.from(r.payload).toString('base64'),
  artifact: r.artifact,
});

describe('round trips', () => {
  it('of one report, in the bytes that a general canonical encoder writes', () => {
    fc.assert(
      fc.property(reports, (r) => {
        const encoded = encodeReport(r);
        expect(Buffer.from(encoded).equals(encode(r, { cde: true }))).toBe(true);
        expect(decodeReport(encoded)).toEqual(r);
        expect(decodeReports(encoded, CBOR)).toEqual([r]);
      }),
    );
  });

  it('of a batch in both media types', () => {
    fc.assert(
      fc.property(fc.array(reports, { minLength: 1, maxLength: 30 }), (batch) => {
        const cbor = encodeReports(batch);
        expect(Buffer.from(cbor).equals(encode({ reports: batch }, { cde: true }))).toBe(true);
        expect(decodeReports(cbor, CBOR)).toEqual(batch);
        expect(decodeReports(encodeReports(batch, JSON_TYPE), JSON_TYPE)).toEqual(batch);
      }),
      { numRuns: 40 },
    );
  });

  it('of the largest payload, and of lengths around each width of a CBOR length', () => {
    for (const size of [1, 23, 24, 255, 256, 65535, 65536]) {
      const r = report({ payload: new Uint8Array(size).fill(9) });
      expect(Buffer.from(encodeReport(r)).equals(encode(r, { cde: true }))).toBe(true);
      expect(decodeReport(encodeReport(r))).toEqual(r);
    }
    const batch = Array.from({ length: LIMITS.maximumBatch }, () => report());
    expect(Buffer.from(encodeReports(batch)).equals(encode({ reports: batch }, { cde: true }))).toBe(true);
  });

  it('keeps encoded reports byte for byte in a batch', () => {
    const encoded = [report(), report({ task: 'other' })].map(encodeReport);
    expect(decodeReports(joinReports(encoded), CBOR).map(encodeReport)).toEqual(encoded);
  });

  it('takes a Buffer that is a slice of a larger one', () => {
    const encoded = Buffer.from(encodeReport(report()));
    const slice = Buffer.concat([Buffer.alloc(3), encoded, Buffer.alloc(3)]).subarray(3, 3 + encoded.length);
    const [decoded] = decodeReports(slice, 'Application/CBOR; q=1');
    expect(decoded).toEqual(report());
    expect(Buffer.isBuffer(decoded.payload)).toBe(false);
  });

  it('reads one report alike on the straight path and on the general one, whichever byte is changed', () => {
    const outcome = (work: () => Report) => {
      try {
        return work();
      } catch (error) {
        return (error as ProtocolError).message;
      }
    };
    fc.assert(
      fc.property(reports, fc.nat(), fc.nat(255), fc.boolean(), (r, where, value, cut) => {
        const whole = encodeReport(r);
        const at = where % whole.length;
        const changed = cut ? whole.subarray(0, at) : whole.map((byte, i) => (i === at ? value : byte));
        const throughBatch = outcome(() => decodeReports(changed, CBOR)[0]);
        const direct = outcome(() => decodeReport(changed));
        if (typeof throughBatch === 'string') expect(typeof direct).toBe('string');
        else expect(direct).toEqual(throughBatch);
      }),
      { numRuns: 500 },
    );
  });

  it('reads a body alike on the straight path and on the general one, whichever byte is changed', () => {
    const outcome = (work: () => unknown) => {
      try {
        return work();
      } catch (error) {
        return (error as ProtocolError).message;
      }
    };
    const body = encodeReports([report(), report({ task: 'other', payload: new Uint8Array(30).fill(3) })]);
    expect(decodeBatch(body, CBOR)).toEqual(readGeneralBody(body));
    for (let at = 0; at < body.length; at++) {
      for (const change of [1, 0x20, 0x80, 0xff]) {
        const changed = body.slice();
        changed[at] ^= change;
        expect(outcome(() => decodeBatch(changed, CBOR))).toEqual(outcome(() => readGeneralBody(changed)));
      }
      const cut = body.subarray(0, at);
      expect(outcome(() => decodeBatch(cut, CBOR))).toEqual(outcome(() => readGeneralBody(cut)));
    }
  });

  it('judges reports alike on the straight path and on the general one, however they mix valid and invalid', () => {
    const hexDigit = fc.constantFrom(...'0123456789abcdefABg-');
    const nearly: fc.Arbitrary<Report> = fc.record({
      id: fc.oneof(bytes(16), bytes({ minLength: 14, maxLength: 18 })),
      task: fc.oneof(
        fc.constantFrom('digits', 'digit', 'digits-', '-', 'Digits', 'digits\n', 'digités', ''),
        fc.string({ unit: 'grapheme-ascii', maxLength: 66 }),
        fc.stringMatching(/^[a-z0-9-]{1,66}$/),
      ),
      payload: fc.oneof(
        bytes({ minLength: 0, maxLength: 40 }),
        fc.constantFrom(65535, 65536, 65537).map((n) => new Uint8Array(n)),
      ),
      artifact: fc.oneof(
        fc.constantFrom('ab'.repeat(32), 'cd'.repeat(32), 'AB'.repeat(32), 'ab'.repeat(31)),
        fc.array(hexDigit, { minLength: 62, maxLength: 66 }).map((digits) => digits.join('')),
      ),
    });
    fc.assert(
      fc.property(fc.array(fc.oneof(reports, nearly), { minLength: 1, maxLength: 12 }), (batch) => {
        const body = encode({ reports: batch }, { cde: true });
        expect(decodeBatch(body, CBOR)).toEqual(readGeneralBody(body));
        for (const r of batch) {
          const one = encode(r, { cde: true });
          const [{ report: read, rejection }] = readGeneralBody(one);
          expect(read ?? rejection?.detail).toEqual(outcomeOf(() => decodeReport(one)));
        }
      }),
      { numRuns: 80 },
    );
  });

  it('hands out the canonical bytes of each report: those of the body itself where they are there', () => {
    fc.assert(
      fc.property(fc.array(reports, { minLength: 1, maxLength: 5 }), (batch) => {
        const bodies: [Uint8Array, typeof CBOR | typeof JSON_TYPE][] = [
          [encodeReports(batch), CBOR],
          [encodeReports(batch, JSON_TYPE), JSON_TYPE],
          [encode({ reports: batch.map(({ id, ...rest }) => ({ ...rest, id })) }), CBOR],
        ];
        for (const [body, type] of bodies) {
          expect(decodeBatch(body, type).map(({ encoded }) => encoded)).toEqual(batch.map(encodeReport));
        }
        const whole = encodeReports(batch);
        for (const { encoded } of decodeBatch(whole, CBOR)) expect(encoded?.buffer).toBe(whole.buffer);
      }),
      { numRuns: 60 },
    );
  });

  it('reads fields in any order', () => {
    const shuffled = encode({
      payload: report().payload,
      artifact: report().artifact,
      task: 'digits',
      id: report().id,
    });
    expect(decodeReport(shuffled)).toEqual(report());
  });
});

describe('one bad report of a batch', () => {
  const outcomesOf = (bad: unknown) =>
    decodeBatch(encode({ reports: [report(), bad, report({ task: 'next' })] }), CBOR);

  it.each([
    ['a short id', { ...report(), id: new Uint8Array(15) }, 'id: must be 16 bytes, not 15', null],
    ['an id as text', { ...report(), id: 'seven' }, 'id: must be a byte string', null],
    [
      'an empty payload',
      { ...report(), payload: new Uint8Array(0) },
      'payload: must be 1 to 65536 bytes, not 0',
      '07'.repeat(16),
    ],
    [
      'a payload too large',
      { ...report(), payload: new Uint8Array(65537) },
      'payload: must be 1 to 65536 bytes, not 65537',
      '07'.repeat(16),
    ],
    [
      'a payload of numbers',
      { ...report(), payload: [1, 2] },
      'payload: must be a byte string',
      '07'.repeat(16),
    ],
    [
      'a missing task',
      { id: report().id, payload: report().payload, artifact: report().artifact },
      'task: is missing',
      '07'.repeat(16),
    ],
    [
      'a task name with a space',
      { ...report(), task: 'my task' },
      'task: must be 1 to 64 of a-z, 0-9 and "-", with no "-" at either end, not "my task"',
      '07'.repeat(16),
    ],
    [
      'an artifact in capitals',
      { ...report(), artifact: 'AB'.repeat(32) },
      expect.stringContaining('artifact: must be 64 lower-case hex digits'),
      '07'.repeat(16),
    ],
    ['an unknown field', { ...report(), when: 5 }, '"when": no such field', '07'.repeat(16)],
    [
      'a field named __proto__',
      new Map<string, unknown>([...Object.entries(report()), ['__proto__', 1]]),
      '"__proto__": no such field',
      '07'.repeat(16),
    ],
    ['a nested field', { ...report(), task: { a: [1, { b: 2 }] } }, 'task: must be text', '07'.repeat(16)],
    ['a number', 5, 'must be a map of fields, not a number', null],
    ['a list', [[1], 2], 'must be a map of fields, not a nested value', null],
    [
      'a field name that is a number',
      new Map<unknown, unknown>([...Object.entries(report()), [3, 4]]),
      'field names must be text, not a scalar',
      '07'.repeat(16),
    ],
  ])('%s is refused alone', (_, bad, detail, id) => {
    const [before, refused, after] = outcomesOf(bad);
    expect(before.report).toEqual(report());
    expect(refused.rejection).toEqual({ index: 1, id, reason: 'malformed', detail });
    expect(after.report).toEqual(report({ task: 'next' }));
  });

  it('with a field twice is refused alone', () => {
    const twice = Buffer.concat([
      Buffer.from([0xa5]),
      encodeReport(report()).subarray(1),
      encode('task'),
      encode('digits'),
    ]);
    const body = joinReports([encodeReport(report()), twice]);
    expect(decodeBatch(body, CBOR).map((o) => o.rejection?.detail)).toEqual([
      undefined,
      '"task": occurs twice',
    ]);
  });

  it('throws where every report must be good', () => {
    const error = errorOf(() => decodeReports(encode({ reports: [report(), { ...report(), id: 1 }] }), CBOR));
    expect(error).toMatchObject({
      code: 'malformed-report',
      field: 'reports[1]',
      message: 'id: must be a byte string',
    });
  });

  it.each([
    [
      'id in capitals',
      { ...asJson(report()), id: 'AB'.repeat(16) },
      expect.stringMatching(/^id: must be lower-case hex digits/),
    ],
    ['short id', { ...asJson(report()), id: 'ab' }, 'id: must be 16 bytes, not 1'],
    [
      'payload not base64',
      { ...asJson(report()), payload: '***' },
      'payload: must be base64 text with padding',
    ],
    [
      'payload without padding',
      { ...asJson(report()), payload: 'AQ' },
      'payload: must be base64 text with padding',
    ],
    ['unknown field', { ...asJson(report()), extra: 1 }, '"extra": no such field'],
    ['null', null, 'must be a map of fields, not null'],
  ])('JSON: %s is refused alone', (_, bad, detail) => {
    const outcomes = decodeBatch(json({ reports: [bad, asJson(report())] }), JSON_TYPE);
    expect(outcomes[0].rejection).toMatchObject({ index: 0, reason: 'malformed', detail });
    expect(outcomes[1].report).toEqual(report());
  });

  it('never repeats a long foreign text in full', () => {
    const [outcome] = decodeBatch(encode({ ...report(), task: 'x'.repeat(5000) }), CBOR);
    expect(outcome.rejection!.detail.length).toBeLessThan(250);
  });
});

describe('a body that is no batch', () => {
  const code = (body: Uint8Array, type: string = CBOR) => {
    const { code: c, message } = errorOf(() => decodeBatch(body, type));
    return `${c}: ${message}`;
  };

  it('cut anywhere says that it is truncated', () => {
    const whole = encodeReports([report(), report({ payload: new Uint8Array(300) })]);
    for (let length = 1; length < whole.length; length++)
      expect(code(whole.subarray(0, length))).toMatch(/^malformed-body: the CBOR is truncated/);
    expect(code(new Uint8Array(0))).toBe('malformed-body: the body is empty');
  });

  it.each([
    [
      'trailing bytes',
      Buffer.concat([encodeReports([report()]), Buffer.from([0])]),
      /^malformed-body: there are trailing bytes/,
    ],
    [
      'a cut trailing item',
      Buffer.concat([encodeReports([report()]), Buffer.from([0x58])]),
      /^malformed-body: there are trailing bytes/,
    ],
    ['a number', encode(5), /^malformed-body: expected a report or a map with "reports", found a scalar/],
    ['an empty map', encode({}), /^malformed-body: .*found an empty map/],
    ['an array of reports', encode([report()]), /^malformed-body: .*found an array/],
    [
      'reports that are no list',
      encode({ reports: 'x' }),
      /^malformed-body: reports: must be an array, not a text/,
    ],
    ['no report', encode({ reports: [] }), /^empty-batch: /],
    [
      'too many reports',
      encode({ reports: new Array(1001).fill(0) }),
      /^batch-too-large: reports: holds 1001 reports; at most 1000/,
    ],
    [
      'a field beside reports',
      encode({ reports: [report()], extra: 1 }),
      /^malformed-body: a map with "reports" has no other field/,
    ],
    [
      'a field before reports',
      encode({ extra: 1, reports: [report()] }),
      /^malformed-body: a map with "reports" has no other field/,
    ],
    [
      'an indefinite length',
      Buffer.from('bf677265706f7274739fffff', 'hex'),
      /^malformed-body: indefinite lengths/,
    ],
    ['a length in a long form', Buffer.from('b80167726570', 'hex'), /^malformed-body: .*Unexpectedly long/],
    [
      'text that is not UTF-8',
      Buffer.from('a161ff00', 'hex'),
      /^malformed-body: the CBOR holds a text that isn't UTF-8/,
    ],
    ['a reserved length', Buffer.from([0xbc]), /^malformed-body: the body isn't well-formed CBOR/],
    [
      'too many bytes',
      new Uint8Array(LIMITS.maximumBodyBytes + 1),
      /^body-too-large: the body has 1048577 bytes; at most 1048576/,
    ],
  ])('%s', (_, body, expected) => expect(code(body)).toMatch(expected));

  it.each([
    [
      'cut JSON',
      new TextEncoder().encode('{"reports": [{"id"'),
      /^malformed-body: the body isn't well-formed JSON/,
    ],
    ['broken UTF-8', Uint8Array.of(0x7b, 0xff), /^malformed-body: the body isn't well-formed JSON/],
    ['a list', json([asJson(report())]), /^malformed-body: .*found an array/],
    ['no report', json({ reports: [] }), /^empty-batch/],
    ['too many', json({ reports: new Array(1001).fill(0) }), /^batch-too-large/],
    [
      'a field beside reports',
      json({ reports: [asJson(report())], x: 1 }),
      /^malformed-body: an object with "reports"/,
    ],
    ['no list', json({ reports: {} }), /^malformed-body: reports: must be an array, not a object/],
  ])('JSON: %s', (_, body, expected) => expect(code(body, JSON_TYPE)).toMatch(expected));

  it.each([['text/plain'], [undefined], ['application/cbor-seq']])('of type %s', (type) => {
    expect(errorOf(() => decodeBatch(encodeReport(report()), type)).code).toBe('unsupported-media-type');
  });
});

describe('a hostile body', () => {
  const map = (content: string) => Buffer.from(`a16178${content}`, 'hex');

  it.each([
    [
      'declares an array of 2^63 reports',
      Buffer.from('a1677265706f7274739b8000000000000000', 'hex'),
      /9223372036854776000 reports; at most 1000/,
    ],
    ['declares a map of 2^62 fields', Buffer.from('bb4000000000000000', 'hex'), /truncated/],
    ['declares a byte string of 2^60 bytes', map('5b1000000000000000'), /truncated/],
    ['declares a byte string of 2^63 bytes', map('5b8000000000000000'), /truncated/],
    ['declares a text of 2^31 bytes', map('7a80000000'), /truncated/],
    ['nests a million arrays', new Uint8Array(1_000_000).fill(0x81), /found an array/],
    ['nests a million maps', new Uint8Array(1_000_000).fill(0xa1), /nested too deeply/],
    ['nests a million tags', new Uint8Array(1_000_000).fill(0xc1), /found a tag/],
    ['nests within a report', map(`${'81'.repeat(100_000)}00`), /nested too deeply/],
    [
      'holds a million items',
      Buffer.concat([Buffer.from([0xba, 0, 7, 0xff, 0xff]), new Uint8Array(1_000_000)]),
      /more than 18000 CBOR items/,
    ],
  ])('that %s is refused at once', (_, body, expected) => {
    const before = process.memoryUsage();
    const start = performance.now();
    expect(errorOf(() => decodeBatch(body, CBOR)).message).toMatch(expected);
    expect(performance.now() - start).toBeLessThan(1000);
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    expect(heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers).toBeLessThan(64 * 1024 * 1024);
  });

  it('of deeply nested JSON is refused', () => {
    const deep = new TextEncoder().encode('['.repeat(500_000) + ']'.repeat(500_000));
    expect(errorOf(() => decodeBatch(deep, JSON_TYPE)).code).toBe('malformed-body');
  });

  it('of random bytes ends in outcomes or a ProtocolError, never in another error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (body) => {
        try {
          decodeBatch(body, CBOR);
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('with one byte of an honest body changed agrees with a general decoder on what is well-formed', () => {
    const honest = encodeReports([report(), report({ task: 'b' })]);
    fc.assert(
      fc.property(fc.nat(honest.length - 1), fc.nat(255), (at, value) => {
        const body = Uint8Array.from(honest);
        body[at] = value;
        let outcomes: ReturnType<typeof decodeBatch>;
        try {
          outcomes = decodeBatch(body, CBOR);
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError);
          return;
        }
        const plain = decode<{ reports: Report[] }>(body, { cde: false });
        outcomes.forEach(({ report: r }, i) => r && expect(r).toEqual({ ...plain.reports[i] }));
      }),
      { numRuns: 500 },
    );
  });

  it('of arbitrary JSON ends in outcomes or a ProtocolError', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        try {
          reportOutcomes(value);
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError);
        }
      }),
    );
  });
});

describe('encoding', () => {
  it.each([
    ['a bad id', report({ id: new Uint8Array(3) }), 'id: must be 16 bytes, not 3'],
    ['a bad task', report({ task: '' }), /^task: must be 1 to 64/],
  ])('refuses %s', (_, r, message) => {
    expect(errorOf(() => encodeReport(r))).toMatchObject({
      code: 'malformed-report',
      message: expect.stringMatching(message),
    });
    expect(errorOf(() => encodeReports([r], JSON_TYPE)).code).toBe('malformed-report');
  });

  it('refuses a batch of none and of too many', () => {
    expect(errorOf(() => joinReports([])).code).toBe('empty-batch');
    expect(errorOf(() => encodeReports(new Array(1001).fill(report()))).code).toBe('batch-too-large');
  });

  it('refuses a log entry with a length in a long form', () => {
    const canonical = Buffer.from(encodeReport(report())).toString('hex');
    const whole = canonical.replace('62696450', '6269645810');
    const misread = whole.replace(`5810${'07'.repeat(16)}`, `5810${'07'.repeat(15)}`);
    for (const hex of [whole, misread])
      expect(errorOf(() => decodeReport(Buffer.from(hex, 'hex'))).message).toMatch(/Unexpectedly long/);
  });

  it('refuses a log entry with bytes after the report', () => {
    const entry = Buffer.concat([encodeReport(report()), Buffer.from([1])]);
    expect(errorOf(() => decodeReport(entry)).code).toBe('malformed-body');
    expect(errorOf(() => decodeReport(encode({ ...report(), id: 1 }))).code).toBe('malformed-report');
  });
});
