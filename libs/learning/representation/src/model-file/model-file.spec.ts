import fc from 'fast-check';
import { decodeModelFile, encodeModelFile, ModelFileError } from './model-file';

const arrays = () => ({
  b: Float32Array.of(1.5, -2, 1e-38),
  a: Float64Array.of(1 / 3),
  none: new Float32Array(0),
});

const codeOf = (act: () => unknown): string => {
  try {
    act();
  } catch (e) {
    if (e instanceof ModelFileError) return e.code;
    throw e;
  }
  return 'no error';
};

describe('model file', () => {
  it('gives back what it was given, bit for bit', () => {
    fc.assert(
      fc.property(
        fc.float32Array({ noNaN: true }),
        fc.float64Array({ noNaN: true }),
        fc.jsonValue({ maxDepth: 3 }),
        (w, v, header) => {
          const bytes = encodeModelFile('prior', { header, arrays: { w, v } });
          const back = decodeModelFile('prior', bytes);
          expect(JSON.stringify(back.header)).toEqual(
            JSON.stringify(decodeModelFile('prior', encodeModelFile('prior', back)).header),
          );
          expect(Buffer.from(back.arrays.w.buffer)).toEqual(Buffer.from(Float32Array.from(w).buffer));
          expect(Buffer.from(back.arrays.v.buffer)).toEqual(Buffer.from(Float64Array.from(v).buffer));
        },
      ),
      { numRuns: 50 },
    );
  });

  it('has the same bytes whatever the order of keys', () => {
    const one = encodeModelFile('prior', { header: { x: 1, y: { p: [1, 2], q: 'a' } }, arrays: arrays() });
    const { a, b, none } = arrays();
    const two = encodeModelFile('prior', {
      header: { y: { q: 'a', p: [1, 2] }, x: 1 },
      arrays: { none, a, b },
    });
    expect(Buffer.from(one)).toEqual(Buffer.from(two));
  });

  it('refuses any change of a single byte', () => {
    const bytes = encodeModelFile('prior', { header: { x: 1 }, arrays: arrays() });
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const changed = Uint8Array.from(bytes);
        changed[at] ^= flip;
        expect(['damaged', 'future-version']).toContain(codeOf(() => decodeModelFile('prior', changed)));
      }),
    );
  });

  it('refuses a file cut short, of another kind or of a later format', () => {
    const bytes = encodeModelFile('prior', { header: null, arrays: arrays() });
    for (const length of [0, 7, 40, bytes.length - 1]) {
      expect(codeOf(() => decodeModelFile('prior', bytes.subarray(0, length)))).toBe('damaged');
    }
    expect(codeOf(() => decodeModelFile('decoder', bytes))).toBe('wrong-kind');
    const later = Uint8Array.from(bytes);
    later[8] = 9;
    expect(codeOf(() => decodeModelFile('prior', later))).toBe('future-version');
  });

  it('refuses a header that JSON would change', () => {
    expect(() => encodeModelFile('prior', { header: { elbo: NaN }, arrays: {} })).toThrow(/can't hold NaN/);
  });
});
