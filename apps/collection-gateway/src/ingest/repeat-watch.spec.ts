import { RepeatWatch } from './repeat-watch';

describe('a watch for repeats', () => {
  it('expects none of a partition that it knows nothing of', () => {
    expect(new RepeatWatch(10).expectsRepeats(0)).toBe(false);
  });

  it('expects more after one, until so many reports have come without', () => {
    const watch = new RepeatWatch(10);
    watch.repeated(0);
    watch.wereNew(0, 9);
    expect(watch.expectsRepeats(0)).toBe(true);
    watch.wereNew(0, 1);
    expect(watch.expectsRepeats(0)).toBe(false);
  });

  it('begins to count anew at each', () => {
    const watch = new RepeatWatch(10);
    watch.repeated(0);
    watch.wereNew(0, 9);
    watch.repeated(0);
    watch.wereNew(0, 9);
    expect(watch.expectsRepeats(0)).toBe(true);
  });

  it('keeps partitions apart', () => {
    const watch = new RepeatWatch(10);
    watch.repeated(0);
    watch.wereNew(1, 100);
    expect(watch.expectsRepeats(0)).toBe(true);
    expect(watch.expectsRepeats(1)).toBe(false);
  });
});
