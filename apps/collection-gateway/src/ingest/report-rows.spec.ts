import { sampleReport, sampleTask } from '../../test/sample-task';
import { type StorableEntry } from './entry-check';
import { distinctReports, encodeRows } from './report-rows';

const rain = sampleTask('rain');
const wind = sampleTask('wind', { digit: 'b' });

/** An id that begins with `beginning` and ends with `end`. */
function idOf(beginning: readonly number[], end: number): Uint8Array {
  const id = new Uint8Array(16);
  id.set(beginning);
  id[15] = end;
  return id;
}

let entries = 0;
const entry = (id: Uint8Array, task = rain, arrivedAt = new Date(1_700_000_000_000)): StorableEntry => ({
  offset: BigInt(entries++),
  arrivedAt,
  report: sampleReport(task, 0, { id }),
});

/** Which entries, in which order: a text, since the difference between two long lists takes minutes to tell. */
const which = (some: readonly StorableEntry[] | undefined): string =>
  String(some?.map(({ offset }) => offset));

/** What `distinctReports` says it does, by means that are plain and slow. */
function plainly(given: readonly StorableEntry[]): string {
  const first = new Map<string, StorableEntry>();
  for (const one of given) {
    const key = Buffer.from(one.report.id).toString('hex');
    if (!first.has(key)) first.set(key, one);
  }
  return which([...first.keys()].sort().map((key) => first.get(key)!));
}

describe('distinct reports', () => {
  // Few different bytes, so that ids repeat, and differ after any number of like bytes.
  const few = (choices: number): Uint8Array =>
    Uint8Array.from(
      { length: 16 },
      () => (Math.floor(Math.random() * choices) * 255) / Math.max(1, choices - 1),
    );

  it.each([1, 2, 3, 33, 1_000, 9_000])('of %d random entries are the first of each id, by id', (count) => {
    const random = Array.from({ length: count }, () => entry(few(256)));
    expect(which(distinctReports(random).get('rain'))).toBe(plainly(random));
    const repeated = [...random, ...random.map(({ report }) => entry(report.id)).reverse()];
    expect(which(distinctReports(repeated).get('rain'))).toBe(plainly(repeated));
  });

  it.each([0, 4, 5, 6, 12])('of ids that begin with %d like bytes as well', (alike) => {
    const some = Array.from({ length: 2_000 }, () => {
      const id = few(2).fill(255, 0, alike);
      return entry(id);
    });
    expect(which(distinctReports(some).get('rain'))).toBe(plainly(some));
  });

  it('of two tasks with one id are both', () => {
    const id = idOf([1], 1);
    const both = distinctReports([entry(id, wind), entry(id, rain)]);
    expect([...both.keys()]).toEqual(['rain', 'wind']);
    expect([...both.values()].map(({ length }) => length)).toEqual([1, 1]);
  });

  it('of no entries are none', () => {
    expect(distinctReports([])).toEqual(new Map());
  });
});

describe('rows', () => {
  /** Reads COPY's binary format. */
  function decodeRows(bytes: Buffer): Buffer[][] {
    expect(bytes.subarray(0, 19)).toEqual(Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1'));
    const rows: Buffer[][] = [];
    let at = 19;
    const take = (count: number): Buffer => bytes.subarray(at, (at += count));
    for (let columns = take(2).readInt16BE(); columns !== -1; columns = take(2).readInt16BE()) {
      rows.push(Array.from({ length: columns }, () => take(take(4).readInt32BE())));
    }
    expect(at).toBe(bytes.length);
    return rows;
  }

  it('hold each report, whether it is like the one before or not', () => {
    const later = new Date(1_700_000_000_001);
    const short = { ...sampleReport(rain, 4), payload: Uint8Array.of(7) };
    const given = [
      entry(idOf([1], 1)),
      entry(idOf([2], 1)),
      entry(idOf([3], 1), rain, later),
      entry(idOf([4], 1), wind, later),
      { offset: 9n, arrivedAt: later, report: short },
      { offset: 10n, arrivedAt: later, report: { ...short, payload: Uint8Array.of(8) } },
      entry(idOf([5], 1), rain, later),
    ];
    const microseconds = (at: Date): bigint => BigInt(at.getTime() - Date.UTC(2000, 0)) * 1000n;
    expect(decodeRows(encodeRows(given))).toEqual(
      given.map(({ report, arrivedAt }) => {
        const time = Buffer.alloc(8);
        time.writeBigInt64BE(microseconds(arrivedAt));
        return [report.task, report.id, report.artifact, report.payload, time].map((field) =>
          Buffer.from(field as Uint8Array),
        );
      }),
    );
  });

  it('of no reports are none', () => {
    expect(decodeRows(encodeRows([]))).toEqual([]);
  });
});
