import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { vectorise } from '@undertone/artifact';
import fc from 'fast-check';
import {
  type Dataset,
  DatasetError,
  type DatasetSpec,
  disjointSelections,
  loadDataset,
  readIdx,
} from './index';

let root: string;
let elsewhere: string;

beforeAll(() => {
  const base = realpathSync(mkdtempSync(path.join(tmpdir(), 'datasets-')));
  root = path.join(base, 'data');
  elsewhere = path.join(base, 'data-of-others');
  mkdirSync(root);
  mkdirSync(elsewhere);
});

afterAll(() => rmSync(path.dirname(root), { recursive: true }));

function idx(shape: number[], data: ArrayLike<number>, type = 0x08): Buffer {
  const header = Buffer.alloc(4 + 4 * shape.length);
  header[2] = type;
  header[3] = shape.length;
  shape.forEach((size, i) => header.writeUInt32BE(size, 4 + 4 * i));
  return Buffer.concat([header, Uint8Array.from(data)]);
}

function put(name: string, content: Uint8Array, folder = root): string {
  const file = path.join(folder, name);
  writeFileSync(file, content);
  return file;
}

const count = (n: number) => Array.from({ length: n }, (_, i) => i % 256);

function errorOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof DatasetError) return `${error.code}: ${error.message}`;
    throw error;
  }
  throw new Error('expected a DatasetError');
}

describe('an IDX file', () => {
  it('is read whatever its shape, gzipped or not', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(6), { minLength: 1, maxLength: 4 }), (shape) => {
        const data = count(shape.reduce((a, b) => a * b, 1));
        for (const bytes of [idx(shape, data), gzipSync(idx(shape, data))])
          expect(readIdx(put('any', bytes))).toEqual({ shape, data: Uint8Array.from(data) });
      }),
      { numRuns: 30 },
    );
  });

  const whole = idx([2, 3, 4], count(24));
  it.each([
    ['empty', Buffer.alloc(0), 'damaged-file: FILE: it has 0 bytes, fewer than an IDX header'],
    [
      'of another kind',
      Buffer.from('\x89PNG\r\n'),
      "damaged-file: FILE: it isn't IDX: the first four bytes are c2 89 50 4e",
    ],
    [
      'of an unknown number type',
      idx([1], [0], 0x07),
      "damaged-file: FILE: it isn't IDX: the first four bytes are 00 00 07 01",
    ],
    [
      'of no dimension',
      Uint8Array.of(0, 0, 8, 0, 1),
      "damaged-file: FILE: it isn't IDX: the first four bytes are 00 00 08 00",
    ],
    [
      'of floats',
      idx([1], [0, 0, 0, 0], 0x0d),
      'unsupported-file: FILE: it holds numbers of type 32-bit float; only unsigned bytes are read',
    ],
    [
      'cut in its header',
      whole.subarray(0, 10),
      'damaged-file: FILE: it ends within its header: 10 of 16 bytes',
    ],
    [
      'cut in its data',
      whole.subarray(0, 39),
      'damaged-file: FILE: it is cut short: 2 × 3 × 4 bytes need 40 with the header, it has 39',
    ],
    [
      'with trailing bytes',
      Buffer.concat([whole, Buffer.of(1, 2)]),
      'damaged-file: FILE: it has 2 bytes too many after its 2 × 3 × 4 bytes',
    ],
    [
      'that declares 2^128 bytes',
      idx([0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff], [0]),
      expect.stringMatching(/^damaged-file: FILE: it is cut short/),
    ],
    [
      'with a damaged gzip stream',
      gzipSync(whole).subarray(0, 30),
      expect.stringMatching(/^damaged-file: FILE: its gzip stream is damaged/),
    ],
  ])('%s is refused', (_, bytes, expected) => {
    const file = put('damaged', bytes);
    expect(errorOf(() => readIdx(file)).replaceAll(file, 'FILE')).toEqual(expected);
  });

  it('that is missing, a folder or a pipe is refused', () => {
    expect(errorOf(() => readIdx(path.join(root, 'nowhere')))).toMatch(
      /^missing-file: .*nowhere: there is no such file/,
    );
    expect(errorOf(() => readIdx(root))).toMatch(/^unreadable-file: .*it isn't a regular file/);
    const pipe = path.join(root, 'pipe');
    execFileSync('mkfifo', [pipe]);
    expect(errorOf(() => readIdx(pipe))).toMatch(/^unreadable-file: .*it isn't a regular file/);
  });
});

describe('images from IDX files', () => {
  const load = (over: Partial<Extract<DatasetSpec, { source: 'idx' }>> = {}): Dataset =>
    loadDataset({ source: 'idx', images: 'images', labels: 'labels', ...over }, { roots: [root] });

  beforeAll(() => {
    put('images', idx([6, 2, 3], count(36)));
    put('labels', idx([6], [3, 1, 4, 1, 5, 2]));
  });

  it('come with schema, rows and labels', () => {
    const data = load();
    expect(data).toMatchObject({ rows: 6, dimension: 6, labels: ['0', '1', '2', '3', '4', '5'] });
    expect(data.schema).toEqual({ kind: 'image', height: 2, width: 3, channels: 1, maximum: 255 });
    expect(Array.from(data.raw(2))).toEqual([12, 13, 14, 15, 16, 17]);
    expect(data.label(2)).toBe(4);
  });

  it('come with channels', () => {
    put('colour', idx([2, 1, 2, 3], count(12)));
    const data = load({ images: 'colour', labels: undefined });
    expect(data.schema).toEqual({ kind: 'image', height: 1, width: 2, channels: 3, maximum: 255 });
  });

  it('become the numbers that a device makes of them, row by row and as a matrix', () => {
    const data = load({ select: { seed: 3, offset: 1, count: 4 } });
    const matrix = data.matrix();
    expect(matrix.length).toBe(24);
    for (let i = 0; i < data.rows; i++) {
      expect(data.vector(i)).toEqual(vectorise(data.schema, data.raw(i)));
      expect(matrix.slice(i * 6, (i + 1) * 6)).toEqual(data.vector(i));
    }
  });

  it('selected are the rows of the source that they say, with their labels', () => {
    const whole = load();
    const part = load({ select: { seed: 9, offset: 2, count: 3 } });
    expect(part.name).toBe('images, rows 2 to 4 of 6 permuted by seed 9');
    for (let i = 0; i < part.rows; i++) {
      expect(part.raw(i)).toEqual(whole.raw(part.sourceRow(i)));
      expect(part.label(i)).toBe(whole.label(part.sourceRow(i)));
    }
    expect(part.labels).toEqual(whole.labels);
  });

  it('in disjoint selections share no row and together are all', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 1 }), (seed, a, b) => {
        const rows = disjointSelections(seed, [a, b, 6 - a - b]).flatMap((select) => {
          const data = load({ select });
          return Array.from({ length: data.rows }, (_, i) => data.sourceRow(i));
        });
        expect(rows.sort()).toEqual([0, 1, 2, 3, 4, 5]);
      }),
      { numRuns: 20 },
    );
  });

  it('without labels say so', () => {
    const data = load({ labels: undefined });
    expect(data.labels).toEqual([]);
    expect(errorOf(() => data.label(0))).toBe('no-labels: images: it has no labels');
  });

  it.each([-1, 6, 0.5, NaN])('have no row %p', (row) => {
    const data = load();
    for (const read of [
      () => data.raw(row),
      () => data.vector(row),
      () => data.label(row),
      () => data.sourceRow(row),
    ])
      expect(errorOf(read)).toBe(`no-such-row: images: row ${row} isn't one of 0 to 5`);
  });

  it('and labels must be as many', () => {
    put('few', idx([5], [0, 1, 2, 3, 4]));
    expect(errorOf(() => load({ labels: 'few' }))).toMatch(
      /^count-mismatch: .*few has 5 labels and .*images has 6 images/,
    );
    expect(errorOf(() => load({ labels: 'images' }))).toMatch(
      /^unsupported-file: .*6 × 2 × 3; labels are one byte a row/,
    );
  });

  it.each([[[6]], [[6, 6]], [[1, 1, 1, 1, 1]], [[0, 2, 3]], [[6, 0, 3]]])(
    'of shape %p are refused',
    (shape) => {
      put('odd', idx(shape, count(shape.reduce((a, b) => a * b, 1))));
      expect(errorOf(() => load({ images: 'odd' }))).toMatch(/^unsupported-file: .*its shape is/);
    },
  );

  it.each<[unknown, RegExp]>([
    [{ source: 'csv' }, /^invalid-spec: .*source/s],
    [{ source: 'mnist', part: 'validation' }, /^invalid-spec: .*part/s],
    [{ source: 'mnist', part: 'test', extra: 1 }, /^invalid-spec: .*extra/s],
    [
      { source: 'idx', images: 'images', select: { seed: 1, offset: 0, count: 0 } },
      /^invalid-spec: .*count/s,
    ],
    [
      { source: 'idx', images: 'images', select: { seed: 0.5, offset: 0, count: 1 } },
      /^invalid-spec: .*seed/s,
    ],
    [{ source: 'idx', images: 'a\0b' }, /^invalid-spec: .*NUL/s],
    [
      { source: 'idx', images: 'images', select: { seed: 1, offset: 3, count: 4 } },
      /^bad-selection: images: rows 3 to 6 are wanted and it has 6/,
    ],
  ])('described as %j are refused', (spec, expected) => {
    expect(errorOf(() => loadDataset(spec as DatasetSpec, { roots: [root] }))).toMatch(expected);
  });
});

describe('paths', () => {
  const load =
    (images: string, roots = [root]) =>
    () =>
      loadDataset({ source: 'idx', images }, { roots });

  beforeAll(() => {
    put('inside', idx([1, 1, 1], [7]));
    put('secret', idx([1, 1, 1], [9]), elsewhere);
    symlinkSync(path.join(elsewhere, 'secret'), path.join(root, 'link-out'));
    symlinkSync(elsewhere, path.join(root, 'folder-out'));
    symlinkSync(path.join(root, 'inside'), path.join(root, 'link-in'));
    symlinkSync(path.join(root, 'gone'), path.join(root, 'dangling'));
    symlinkSync(root, path.join(elsewhere, 'link-to-root'));
  });

  it('within a root are read, as written and through links that stay within', () => {
    for (const images of ['inside', path.join(root, 'inside'), 'link-in', 'x/../inside'])
      expect(load(images)().raw(0)[0]).toBe(7);
    expect(load('secret', [root, elsewhere])().raw(0)[0]).toBe(9);
    expect(load('link-out', [root, elsewhere])().raw(0)[0]).toBe(9);
    expect(load('inside', [path.join(elsewhere, 'link-to-root')])().raw(0)[0]).toBe(7);
  });

  it.each([
    ['up and out', '../data-of-others/secret'],
    ['out by a link', 'link-out'],
    ['out by a linked folder', 'folder-out/secret'],
    ['to the root itself', '.'],
    ['to the parent', '..'],
    ['absolute', '/etc/passwd'],
    ['absolute and absent', '/no/such/file'],
  ])('%s are refused', (_, images) => {
    expect(errorOf(load(images))).toBe(
      `outside-roots: ${images}: it must lie within a data folder; the data folders are ${root}: move it there, or name its folder in UNDERTONE_DATA_ROOTS`,
    );
  });

  it('beside a root whose name they begin with are refused', () => {
    expect(errorOf(load(path.join(elsewhere, 'secret')))).toMatch(/^outside-roots/);
  });

  it('are refused without roots, and without one that exists', () => {
    expect(errorOf(load('inside', []))).toBe(
      'outside-roots: inside: it must lie within a data folder; no data folder is configured: name its folder in UNDERTONE_DATA_ROOTS',
    );
    expect(errorOf(load('inside', [path.join(root, 'none')]))).toMatch(/^missing-file/);
  });

  it('that lead nowhere are told so', () => {
    expect(errorOf(load('nowhere'))).toBe('missing-file: nowhere: there is no such file');
    expect(errorOf(load('dangling'))).toBe('missing-file: dangling: there is no such file');
  });

  it('of labels are held to the same', () => {
    const spec = { source: 'idx' as const, images: 'inside', labels: 'link-out' };
    expect(errorOf(() => loadDataset(spec, { roots: [root] }))).toMatch(/^outside-roots: link-out/);
  });
});

describe('MNIST', () => {
  it('has the published test labels and pixels', () => {
    const test = loadDataset({ source: 'mnist', part: 'test' }, { roots: [] });
    expect(test).toMatchObject({
      rows: 10_000,
      dimension: 784,
      labels: [...'0123456789'],
      name: 'mnist/test',
    });
    const perClass = new Array(10).fill(0);
    for (let i = 0; i < test.rows; i++) perClass[test.label(i)]++;
    expect(perClass).toEqual([980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]);
    expect([0, 1, 2, 3, 4].map((i) => test.label(i))).toEqual([7, 2, 1, 0, 4]);
  });

  it('splits its training part', () => {
    const [d1, devices] = disjointSelections(1, [15_000, 45_000]).map((select) =>
      loadDataset({ source: 'mnist', part: 'train', select }, { roots: [] }),
    );
    const seen = new Set(Array.from({ length: d1.rows }, (_, i) => d1.sourceRow(i)));
    for (let i = 0; i < devices.rows; i++) seen.add(devices.sourceRow(i));
    expect(seen.size).toBe(60_000);
  });
});
