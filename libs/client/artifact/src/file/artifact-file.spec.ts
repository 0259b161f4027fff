import { createHash, createPublicKey, verify } from 'node:crypto';
import { runInNewContext } from 'node:vm';
import { encode as encodeCbor } from 'cbor2';
import fc from 'fast-check';
import { createRandomiser, type RandomiserSpec } from '@undertone/ldp';
import { DeterministicRandom } from '@undertone/ldp/testing';
import { ArtifactError } from '../artifact-error';
import { mechanismClaim, type ArtifactBody } from '../body/artifact-body';
import { encodeCanonical } from '../body/canonical-cbor';
import { joinContent, joinFile, splitFile } from './layout';
import { openArtifact, type OpenOptions } from './open-artifact';
import { sealArtifact } from './seal-artifact';
import { digestOf, generateSigningKey, sign } from './signature';

const randomiser: RandomiserSpec = {
  kind: 'factorised',
  representation: { kind: 'laplace-l1', dimension: 2, radius: 1, epsilon: 6 },
  label: { kind: 'k-rr', classes: 3, epsilon: 2 },
};
const body: ArtifactBody = {
  name: 'digits',
  schema: { kind: 'image', height: 2, width: 2, channels: 1, maximum: 255 },
  labels: ['0', '1', '2'],
  encoder: {
    layers: [
      { inputs: 4, outputs: 3, activation: 'relu' },
      { inputs: 3, outputs: 2, activation: 'linear' },
    ],
    projection: { kind: 'l1-ball', radius: 1 },
  },
  randomiser,
  claim: mechanismClaim(createRandomiser(randomiser), { kind: 'public' }),
  lineage: { method: 'v-rlm', seed: 7, d1: { name: 'mnist', rows: 15_000 }, elbo: -101.25, hidden: [3] },
};
const weights = [12, 3, 6, 2].map((size, a) => Float32Array.from({ length: size }, (_, i) => (i - a) / 8));
const key = generateSigningKey(new DeterministicRandom(1));
const otherKey = generateSigningKey(new DeterministicRandom(2));
const trusted: OpenOptions = { trustedKeys: [key.publicKey] };
const sealed = sealArtifact(body, weights, key);

/** A well-signed file of any header and weights: what a trusted but broken program could publish. */
function signedFile(
  header: Uint8Array,
  numbers: readonly Float32Array[] = weights,
  signer = key,
): Uint8Array {
  const content = joinContent(header, numbers);
  const { signer: publicKey, signature } = sign(digestOf(content), signer);
  return joinFile(content, publicKey, signature);
}

function refusal(file: Uint8Array, options: OpenOptions = trusted): ArtifactError {
  try {
    openArtifact(file, options);
  } catch (error) {
    if (error instanceof ArtifactError) return error;
    throw error;
  }
  throw new Error('the file was opened');
}

type Loose = { -readonly [K in keyof ArtifactBody]: unknown };
const changed = (change: Partial<Loose>) => ({ ...body, ...change }) as ArtifactBody;

describe('sealArtifact and openArtifact', () => {
  it('give back body, weights, randomiser, id and signer', () => {
    const artifact = openArtifact(sealed.file, { ...trusted, expectedId: sealed.id });
    expect(artifact.body).toEqual(body);
    expect(artifact.weights()).toEqual(weights);
    expect(artifact.id).toBe(sealed.id);
    expect(artifact.signer).toBe(key.publicKey);
    expect(artifact.randomiser.claim.epsilon).toBe(8);
    expect(Object.isFrozen(artifact.body.encoder.layers[0])).toBe(true);
  });

  it('open from the middle of a larger buffer', () => {
    const buffer = new Uint8Array(sealed.file.length + 3);
    buffer.set(sealed.file, 3);
    expect(openArtifact(buffer.subarray(3), trusted).weights()).toEqual(weights);
  });

  it('are checked by another implementation of SHA-256 and Ed25519', () => {
    const { content, signature } = splitFile(sealed.file);
    const digest = createHash('sha256').update(content).digest();
    expect(digest.toString('hex')).toBe(sealed.id);
    const publicKey = createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(key.publicKey, 'hex').toString('base64url') },
      format: 'jwk',
    });
    const message = Buffer.concat([Buffer.from('undertone artifact signature 1\n'), digest]);
    expect(verify(null, message, publicKey, signature)).toBe(true);
  });

  it('keep the bytes of format version 1', () => {
    // Worked out by a program of its own (Python: a small CBOR writer, struct, hashlib).
    expect(sealed.id).toBe('8846bd579ae58c4331119ff228bf6032aaa07c4027ea06f2b710626fdc1d484e');
  });

  it('give one id whatever the order of fields and whoever signs, and another for any change', () => {
    const reversed = JSON.parse(JSON.stringify(body), (_, value: unknown) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).reverse())
        : value,
    ) as ArtifactBody;
    expect(sealArtifact(reversed, weights, key)).toEqual(sealed);
    expect(sealArtifact(body, weights, otherKey).id).toBe(sealed.id);
    const nudged = weights.map((array) => array.slice());
    nudged[3][1] += 2 ** -20;
    expect(sealArtifact(body, nudged, key).id).not.toBe(sealed.id);
    expect(sealArtifact(changed({ name: 'digit' }), weights, key).id).not.toBe(sealed.id);
  });

  it('fit together: what is sealed opens, whatever the lineage', () => {
    const lineage = fc.dictionary(
      fc.string({ unit: 'binary', maxLength: 10 }).filter((name) => name !== '__proto__'),
      fc.oneof(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.integer(),
        fc.maxSafeInteger().map((n) => n * 4096),
        fc.string({ unit: 'binary' }),
        fc.constantFrom(-0, 2 ** 53, 2 ** 64, -(2 ** 63), null, true),
      ),
      { maxKeys: 5 },
    );
    fc.assert(
      fc.property(lineage, (facts) => {
        const { file } = sealArtifact(changed({ lineage: facts }), weights, key);
        expect(openArtifact(file, trusted).body.lineage).toEqual({ ...facts });
      }),
      { numRuns: 30 },
    );
  });

  it('refuse when sealed, not on every device, what would not open', () => {
    // Two halves of surrogate pairs: different texts, one UTF-8.
    expect(() => sealArtifact(changed({ labels: ['\ud800', '\ud801', '2'] }), weights, key)).toThrow(
      /labels is .* named only once/,
    );
  });

  it('take records and lists of another realm', () => {
    const foreign = runInNewContext(`(${JSON.stringify(body)})`) as ArtifactBody;
    expect(sealArtifact(foreign, weights, key)).toEqual(sealed);
  });

  it('encode records as the weights say', () => {
    const artifact = openArtifact(sealed.file, trusted);
    const rows = [artifact.vectorise([255, 0, 0, 51]), artifact.vectorise([0, 0, 0, 0])];
    const batch = artifact.encodeBatch(Float32Array.from(rows.flatMap((row) => [...row])));
    expect([...batch]).toEqual(rows.flatMap((row) => [...artifact.encode(row)]));
    expect(() => artifact.encode([1, 2])).toThrow(/2 numbers: it must have 4/);
    expect(() => artifact.encodeBatch([1, 2])).toThrow(/multiple of 4/);
  });
});

describe('openArtifact refuses', () => {
  it('a file with any bit flipped', () => {
    const place = fc.nat({ max: 8 * sealed.file.length - 1 });
    fc.assert(
      fc.property(place, (bit) => {
        const file = sealed.file.slice();
        file[bit >> 3] ^= 1 << (bit & 7);
        expect(['damaged', 'future-version', 'untrusted-signer', 'unsigned']).toContain(refusal(file).code);
        expect(() => openArtifact(file, { trustedKeys: 'any-signer' })).toThrow(ArtifactError);
      }),
      { numRuns: 100 },
    );
  });

  it('a file with any one byte of its content replaced, as damaged', () => {
    const { content } = splitFile(sealed.file);
    fc.assert(
      fc.property(
        fc.integer({ min: 18, max: content.length - 1 }),
        fc.integer({ min: 1, max: 255 }),
        (at, by) => {
          const file = sealed.file.slice();
          file[at] ^= by;
          expect(refusal(file).code).toBe('damaged');
        },
      ),
      { numRuns: 50 },
    );
  });

  it('a file cut short anywhere or grown', () => {
    const { content } = splitFile(sealed.file);
    for (let length = 0; length < sealed.file.length; length++) {
      const { code } = refusal(sealed.file.subarray(0, length));
      expect(code).toBe(length === content.length ? 'unsigned' : 'damaged');
    }
    const grown = new Uint8Array(sealed.file.length + 1);
    grown.set(sealed.file);
    expect(refusal(grown).code).toBe('damaged');
    expect(refusal(new TextEncoder().encode('<!doctype html>')).message).toMatch(/doesn't start as/);
  });

  it('an unsigned file', () => {
    expect(refusal(splitFile(sealed.file).content).code).toBe('unsigned');
  });

  it('a file re-signed by another key', () => {
    const resigned = sealArtifact(body, weights, otherKey).file;
    const error = refusal(resigned);
    expect(error.code).toBe('untrusted-signer');
    expect(error.message).toContain(otherKey.publicKey);
    expect(openArtifact(resigned, { trustedKeys: 'any-signer' }).signer).toBe(otherKey.publicKey);
    expect(refusal(sealed.file, { trustedKeys: [] }).code).toBe('untrusted-signer');
  });

  it("a trusted key's name over another's signature", () => {
    const { content, signature } = splitFile(sealArtifact(body, weights, otherKey).file);
    const forged = joinFile(content, Buffer.from(key.publicKey, 'hex'), signature);
    expect(refusal(forged).code).toBe('damaged');
  });

  it('a later format', () => {
    const file = sealed.file.slice();
    file[8] = 2;
    const error = refusal(file);
    expect(error.code).toBe('future-version');
    expect(error.message).toMatch(/version 2 .* reads up to 1: update/);
  });

  it('another artifact than the one asked for', () => {
    expect(refusal(sealed.file, { ...trusted, expectedId: '0'.repeat(64) }).code).toBe('wrong-id');
  });

  it('a trusted key that is no key', () => {
    expect(refusal(sealed.file, { trustedKeys: ['abc'] }).code).toBe('invalid-key');
  });

  it.each<[string, ArtifactBody['claim']]>([
    ['a smaller ε', { ...body.claim, epsilon: 4 }],
    ['fewer assumptions', { ...body.claim, assumptions: ['one-report-per-record'] }],
    ['other parts', { ...body.claim, parts: [{ of: 'pair', epsilon: 8 }] }],
    ['a stronger composition', { ...body.claim, composition: 'none' }],
  ])('a claim with %s than its randomiser gives', (_, claim) => {
    const file = signedFile(encodeCanonical(changed({ claim })));
    expect(refusal(file).code).toBe('claim-mismatch');
    expect(() => sealArtifact(changed({ claim }), weights, key)).toThrow(
      expect.objectContaining({ code: 'claim-mismatch' }),
    );
  });

  const layers = body.encoder.layers;
  const representation = randomiser.representation;
  it.each<[string, Partial<Loose>, RegExp]>([
    ['an input of another width', { schema: { ...body.schema, width: 3 } }, /inputs is 4: it must be 6/],
    [
      'layers that do not fit',
      { encoder: { ...body.encoder, layers: [layers[0], { ...layers[1], inputs: 4 }] } },
      /layers\[1\]\.inputs is 4: it must be 3, the width of layer 0/,
    ],
    [
      'a latent width that is not the randomiser’s',
      { encoder: { ...body.encoder, layers: [layers[0]] } },
      /dimension is 2: it must be 3/,
    ],
    ['too few labels', { labels: ['0', '1'] }, /classes is 3: it must be 2/],
    ['a label twice', { labels: ['0', '1', '1'] }, /labels is "1": it must be named only once/],
    [
      'another radius',
      { encoder: { ...body.encoder, projection: { kind: 'l1-ball', radius: 2 } } },
      /radius is 2: it must be 1/,
    ],
    ['an empty name', { name: '' }, /name is ""/],
    [
      'an unknown activation',
      { encoder: { ...body.encoder, layers: [{ ...layers[0], activation: 'exp' }, layers[1]] } },
      /relu or linear/,
    ],
    [
      'a randomiser against its rules',
      { randomiser: { ...randomiser, representation: { ...representation, epsilon: -1 } } },
      /randomiser: ε of the representation is -1/,
    ],
    ['a randomiser with more fields', { randomiser: { ...randomiser, extra: 1 } }, /randomiser has fields/],
    ['a maximum of zero', { schema: { ...body.schema, maximum: 0 } }, /maximum is 0/],
    ['no lineage', { lineage: undefined }, /lineage is undefined/],
  ])('%s', (_, change, message) => {
    expect(() => sealArtifact(changed(change), weights, key)).toThrow(message);
    const error = refusal(signedFile(encodeCanonical(changed(change))));
    expect(error.code).toBe('invalid');
  });

  it('weights of a wrong size or that are not finite', () => {
    const broken = (array: number, change: (w: Float32Array) => Float32Array) =>
      weights.map((w, i) => (i === array ? change(w.slice()) : w));
    const header = splitFile(sealed.file).header;
    const cases: [Float32Array[], RegExp, RegExp][] = [
      [
        broken(2, (w) => w.fill(NaN, 3, 4)),
        /kernel of layer 1 holds NaN at 3/,
        /kernel of layer 1 holds NaN/,
      ],
      [broken(1, (w) => w.fill(Infinity)), /bias of layer 0 holds Infinity at 0/, /bias of layer 0/],
      [
        broken(3, (w) => w.subarray(1)),
        /bias of layer 1 has 1 numbers: it must have 2/,
        /88 bytes: the layers take 92/,
      ],
      [weights.slice(1), /3 arrays of weights: there must be 4/, /44 bytes/],
    ];
    for (const [numbers, atSeal, atOpen] of cases) {
      expect(() => sealArtifact(body, numbers, key)).toThrow(atSeal);
      const error = refusal(signedFile(header, numbers));
      expect(error.code).toBe('invalid');
      expect(error.message).toMatch(atOpen);
    }
  });
});

describe('a hostile file', () => {
  it('makes nothing of absurd lengths in its prefix', () => {
    const file = sealed.file.slice(0, 200);
    for (const at of [10, 14]) new DataView(file.buffer).setUint32(at, 0xffffffff, true);
    const before = process.memoryUsage().arrayBuffers;
    expect(refusal(file).code).toBe('damaged');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 20);
  });

  it.each<[string, number[]]>([
    ['an empty header', []],
    ['a list of 2^32 − 1 items', [0x9a, 0xff, 0xff, 0xff, 0xff]],
    ['a list of 2^53 items', [0x9b, 0, 0x20, 0, 0, 0, 0, 0, 0]],
    ['a map of 2^32 − 1 fields', [0xba, 0xff, 0xff, 0xff, 0xff]],
    ['a text of 4 GB', [0x7a, 0xff, 0xff, 0xff, 0xff, 0x61]],
    ['bytes of 2^63', [0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]],
    ['lists without an end', new Array<number>(100_000).fill(0x81)],
    ['an endless list', [0x9f, 0x01]],
    ['a number', [0x01]],
    ['a tag that stands for a date', [0xc1, 0x00]],
    ['a tag that stands for a regular expression', [0xd8, 0x23, 0x62, 0x28, 0x61]],
    ['a tag that stands for a large integer', [0xc2, 0x41, 0x01]],
    ['undefined', [0xf7]],
  ])('signed by a trusted key still gives a refusal: %s', (_, bytes) => {
    const before = process.memoryUsage().arrayBuffers;
    const started = performance.now();
    expect(refusal(signedFile(Uint8Array.from(bytes))).code).toBe('invalid');
    expect(performance.now() - started).toBeLessThan(1000);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 2 ** 20);
  });

  it('has only one encoding', () => {
    const header = splitFile(sealed.file).header;
    const inOrder = encodeCbor(body, { sortKeys: null });
    expect(inOrder).not.toEqual(header);
    expect(refusal(signedFile(inOrder)).code).toBe('invalid');
    expect(refusal(signedFile(Uint8Array.of(...header, 0xf6))).code).toBe('invalid');
    // seed: 7 as a float.
    const seed = Buffer.from(header).indexOf(Buffer.from('6473656564', 'hex')) + 5;
    expect(header[seed]).toBe(7);
    const asFloat = Uint8Array.of(
      ...header.subarray(0, seed),
      0xf9,
      0x47,
      0x00,
      ...header.subarray(seed + 1),
    );
    expect(refusal(signedFile(asFloat)).message).toMatch(/isn't the deterministic CBOR of its body/);
    expect(openArtifact(signedFile(header), trusted).id).toBe(sealed.id);
  });

  it('can’t reach a prototype', () => {
    const header = encodeCanonical({ ...body, lineage: new Map([['__proto__', { polluted: true }]]) });
    expect(refusal(signedFile(header)).code).toBe('invalid');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe('no row of D1 fits in an artifact', () => {
  const row = Array.from({ length: 4 }, (_, i) => i);
  /** Every record of the body that the format defines, by path. */
  const paths = [
    '',
    'schema',
    'encoder',
    'encoder.layers.0',
    'encoder.projection',
    'randomiser',
    'randomiser.label',
    'claim',
    'claim.d1',
    'claim.parts.0',
  ];

  it.each(paths)('no record has a field besides its own: %p', (path) => {
    const open = JSON.parse(JSON.stringify(body)) as Record<string, unknown>;
    const record = path
      .split('.')
      .filter(Boolean)
      .reduce((at, step) => at[step] as Record<string, unknown>, open);
    record.row = row;
    expect(() => sealArtifact(open as unknown as ArtifactBody, weights, key)).toThrow(ArtifactError);
    expect(['invalid', 'claim-mismatch']).toContain(refusal(signedFile(encodeCanonical(open))).code);
  });

  it('the file ends with the weights that the layers take', () => {
    const { content, header } = splitFile(sealed.file);
    const numbers = weights.reduce((sum, array) => sum + array.length, 0);
    expect(content.length).toBe(18 + header.length + 4 * numbers);
    expect(refusal(signedFile(header, [...weights, Float32Array.from(row)])).code).toBe('invalid');
  });

  it.each<[string, unknown]>([
    ['an image', { images: Array.from({ length: 784 }, () => 0) }],
    ['bytes', { image: new Uint8Array(16) }],
    ['a base64 image', { image: 'A'.repeat(1046) }],
    [
      'many short pieces',
      Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`p${i}`, 'A'.repeat(900)])),
    ],
    ['a date', { at: new Date(0) }],
    ['NaN', { elbo: NaN }],
    ['a function', { f: () => 1 }],
    ['depth', { a: { b: { c: { d: { e: { f: { g: 1 } } } } } } }],
  ])('the lineage takes plain, short facts only, not %s', (_, lineage) => {
    expect(() => sealArtifact(changed({ lineage }), weights, key)).toThrow(
      expect.objectContaining({ code: 'invalid' }),
    );
  });
});

describe('generateSigningKey', () => {
  it('gives a pair of its own each time, as hexadecimal', () => {
    expect(key.publicKey).toMatch(/^[0-9a-f]{64}$/);
    expect(key.secretKey).toMatch(/^[0-9a-f]{64}$/);
    expect(otherKey).not.toEqual(key);
  });

  it('never shows a broken secret key', () => {
    expect(() => sealArtifact(body, weights, { secretKey: 'hunter2' })).toThrow(
      /^the signing key must be 64 hexadecimal digits$/,
    );
  });
});
