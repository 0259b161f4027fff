import fc from 'fast-check';
import { EpochBatches, gatherRows } from './epoch-batches';

describe('epoch batches', () => {
  it('take no row twice in an epoch, and all but the remainder once', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 1, max: 70 }),
        fc.nat(99),
        (rows, batch, seed) => {
          const batches = new EpochBatches(rows, batch, seed);
          expect(batches.batch).toBe(Math.min(batch, rows));
          for (const epoch of [0, 3]) {
            const first = epoch * batches.stepsPerEpoch;
            const seen = Array.from({ length: batches.stepsPerEpoch }, (_, i) => [
              ...batches.at(first + i),
            ]).flat();
            expect(new Set(seen).size).toBe(seen.length);
            expect(rows - seen.length).toBe(rows % batches.batch);
            expect(Math.max(...seen)).toBeLessThan(rows);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('depend on seed and step alone, in whatever order they are asked for', () => {
    const forwards = new EpochBatches(50, 8, 4);
    const inTurn = Array.from({ length: 20 }, (_, s) => [...forwards.at(s)]);
    const backwards = new EpochBatches(50, 8, 4);
    for (let s = 19; s >= 0; s--) expect([...backwards.at(s)]).toEqual(inTurn[s]);
    expect([...new EpochBatches(50, 8, 5).at(0)]).not.toEqual(inTurn[0]);
    expect(inTurn[0]).not.toEqual(inTurn[6]);
  });

  it('gather rows with a gap', () => {
    const from = Float32Array.of(1, 2, 3, 4, 5, 6);
    expect([...gatherRows(from, 2, [2, 0], new Float32Array(4))]).toEqual([5, 6, 1, 2]);
    expect([...gatherRows(from, 2, [1, 1], new Float32Array(6).fill(9), 1)]).toEqual([3, 4, 9, 3, 4, 9]);
  });
});
