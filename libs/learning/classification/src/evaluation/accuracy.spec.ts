import fc from 'fast-check';
import { measureAccuracy, wilsonInterval } from './accuracy';

describe('accuracy', () => {
  it('counts right answers, over all rows and balanced over the classes present', () => {
    const measured = measureAccuracy({ predicted: [0, 0, 0, 1, 2], truth: [0, 0, 0, 0, 2], classes: 4 });
    expect(measured).toMatchObject({ rows: 5, correct: 4, accuracy: 0.8, classRows: [4, 0, 1, 0] });
    expect(measured.balanced).toBeCloseTo((0.75 + 1) / 2, 12);
  });

  it('agrees with published Wilson intervals', () => {
    // Newcombe 1998, Statistics in Medicine 17, table I, method 3.
    for (const [r, n, low, high] of [
      [81, 263, 0.2553, 0.3662],
      [15, 148, 0.0624, 0.1605],
      [0, 20, 0, 0.1611],
      [1, 29, 0.0061, 0.1718],
    ]) {
      expect(wilsonInterval(r, n).low).toBeCloseTo(low, 4);
      expect(wilsonInterval(r, n).high).toBeCloseTo(high, 4);
    }
  });

  it('has an interval around the share, the mirror image for errors', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), fc.nat(5000), (rows, c) => {
        const correct = c % (rows + 1);
        const { low, high } = wilsonInterval(correct, rows);
        const mirror = wilsonInterval(rows - correct, rows);
        expect(low).toBeLessThanOrEqual(correct / rows);
        expect(high).toBeGreaterThanOrEqual(correct / rows);
        expect(mirror.low).toBeCloseTo(1 - high, 9);
      }),
    );
  });

  it('refuses labels outside the classes and unequal lengths', () => {
    expect(() => measureAccuracy({ predicted: [0], truth: [3], classes: 3 })).toThrow(
      /row 0 is 3: .* 0 to 2/,
    );
    expect(() => measureAccuracy({ predicted: [0], truth: [0.5], classes: 3 })).toThrow(/row 0 is 0.5/);
    expect(() => measureAccuracy({ predicted: [], truth: [], classes: 3 })).toThrow(/at least one/);
    expect(() => measureAccuracy({ predicted: [0, 1], truth: [0], classes: 3 })).toThrow(/2 answers to 1/);
  });
});
