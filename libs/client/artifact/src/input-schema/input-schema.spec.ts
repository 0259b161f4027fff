import fc from 'fast-check';
import { decoderHeads, inputDimension, vectorise, type InputSchema, type RawRecord } from './input-schema';

const image: InputSchema = { kind: 'image', height: 2, width: 3, channels: 1, maximum: 255 };
const table: InputSchema = {
  kind: 'table',
  columns: [
    { name: 'age', kind: 'numeric', mean: 40, deviation: 10 },
    { name: 'income', kind: 'numeric', mean: 0, deviation: 2 },
    { name: 'home', kind: 'categorical', levels: ['own', 'rent', 'other'] },
    { name: 'debt', kind: 'numeric', mean: 5, deviation: 1 },
  ],
};

describe('an image schema', () => {
  it('scales pixels into [0, 1]', () => {
    expect(inputDimension(image)).toBe(6);
    expect([...vectorise(image, Uint8Array.of(0, 51, 102, 153, 204, 255))]).toEqual(
      [0, 0.2, 0.4, 0.6, 0.8, 1].map(Math.fround),
    );
    expect([...vectorise(image, [0, 0, 0, 0, 0, 127.5])]).toEqual([0, 0, 0, 0, 0, 0.5]);
  });

  it('has one Bernoulli head', () => {
    expect(decoderHeads(image)).toEqual([{ kind: 'bernoulli', offset: 0, size: 6 }]);
  });

  it.each<[string, unknown, string, RegExp]>([
    ['a short image', [1, 2], 'wrong-dimension', /2 numbers: it must have 6 \(2 × 3 × 1\)/],
    ['a long image', new Uint8Array(7), 'wrong-dimension', /7 numbers/],
    ['NaN', [0, 0, NaN, 0, 0, 0], 'not-a-number', /pixel 2 is NaN/],
    ['a text', [0, '5', 0, 0, 0, 0], 'not-a-number', /pixel 1 is 5/],
    ['a hole', [0, undefined, 0, 0, 0, 0], 'not-a-number', /pixel 1 is undefined/],
    ['a negative pixel', [0, 0, 0, -1, 0, 0], 'out-of-range', /pixel 3 is -1: it must lie from 0 to 255/],
    ['infinity', [0, 0, 0, 0, 0, Infinity], 'out-of-range', /pixel 5 is Infinity/],
    ['a row of a table', { age: 1 }, 'wrong-type', /isn't an array/],
  ])('refuses %s', (_, record, code, message) => {
    const act = () => vectorise(image, record as RawRecord);
    expect(act).toThrow(message);
    expect(act).toThrow(expect.objectContaining({ name: 'InputError', code }));
  });
});

describe('a table schema', () => {
  it('standardises numbers and spreads levels', () => {
    expect(inputDimension(table)).toBe(6);
    const row = { debt: 4, home: 'rent', age: 55, income: -1 };
    expect([...vectorise(table, row)]).toEqual([1.5, -0.5, 0, 1, 0, -1]);
  });

  it('takes null for a missing value: the mean, or no level', () => {
    const row = { age: null, income: 1, home: null, debt: 5 };
    expect([...vectorise(table, row)]).toEqual([0, 0.5, 0, 0, 0, 0]);
  });

  it('has a head for each run of numbers and each set of levels, covering the input', () => {
    expect(decoderHeads(table)).toEqual([
      { kind: 'gaussian', offset: 0, size: 2 },
      { kind: 'categorical', offset: 2, size: 3 },
      { kind: 'gaussian', offset: 5, size: 1 },
    ]);
  });

  const row = { age: 50, income: 0, home: 'own', debt: 5 };
  it.each<[string, unknown, string, RegExp]>([
    ['a missing column', { age: 50, income: 0, home: 'own' }, 'missing-column', /"debt" is missing/],
    ['an unknown column', { ...row, name: 'x' }, 'unknown-column', /"name" isn't one of "age", "income"/],
    ['an unknown level', { ...row, home: 'boat' }, 'unknown-level', /"boat": it must be one of "own"/],
    ['a number for a level', { ...row, home: 1 }, 'unknown-level', /"home" is 1/],
    ['a text for a number', { ...row, age: '50' }, 'not-a-number', /"age" is "50"/],
    ['NaN', { ...row, age: NaN }, 'not-a-number', /"age" is NaN/],
    ['a number too large', { ...row, age: 1e300 }, 'out-of-range', /too large/],
    ['an array', [50, 0, 0, 5], 'wrong-type', /isn't an object/],
    ['nothing', null, 'wrong-type', /isn't an object/],
    ['an inherited column', Object.create(row), 'missing-column', /"age" is missing/],
  ])('refuses %s', (_, record, code, message) => {
    const act = () => vectorise(table, record as RawRecord);
    expect(act).toThrow(message);
    expect(act).toThrow(expect.objectContaining({ name: 'InputError', code }));
  });

  it('gives heads that cover any input without overlap', () => {
    const column = fc.oneof(
      fc.record({ kind: fc.constant('numeric' as const) }),
      fc.record({ kind: fc.constant('categorical' as const), size: fc.integer({ min: 1, max: 5 }) }),
    );
    fc.assert(
      fc.property(fc.array(column, { minLength: 1, maxLength: 12 }), (columns) => {
        const schema: InputSchema = {
          kind: 'table',
          columns: columns.map((c, i) =>
            c.kind === 'numeric'
              ? { name: `c${i}`, kind: c.kind, mean: 0, deviation: 1 }
              : { name: `c${i}`, kind: c.kind, levels: Array.from({ length: c.size }, (_, l) => `${l}`) },
          ),
        };
        let next = 0;
        for (const { offset, size } of decoderHeads(schema)) {
          expect(offset).toBe(next);
          next += size;
        }
        expect(next).toBe(inputDimension(schema));
      }),
    );
  });
});
