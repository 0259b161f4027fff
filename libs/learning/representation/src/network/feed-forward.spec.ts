import { FeedForward } from './feed-forward';

describe('feed-forward network', () => {
  const layers = [
    { inputs: 2, outputs: 2, activation: 'relu' },
    { inputs: 2, outputs: 1, activation: 'linear' },
  ] as const;
  const weights = [
    Float32Array.of(1, -1, 2, 0.5),
    Float32Array.of(0.5, 0),
    Float32Array.of(2, 3),
    Float32Array.of(-1),
  ];

  it('agrees with a sum by hand', () => {
    // x = (1, 2): relu(1·1 + 2·2 + .5, 1·−1 + 2·.5) = (5.5, 0); 2 · 5.5 + 3 · 0 − 1 = 10
    expect([...new FeedForward(layers, weights).evaluate([1, 2])]).toEqual([10]);
    // x = (0, 2): relu(4.5, 1) = (4.5, 1); 9 + 3 − 1 = 11
    expect([...new FeedForward(layers, weights).evaluate([0, 2])]).toEqual([11]);
  });

  it('carries NaN and infinity through, zero inputs included', () => {
    expect(new FeedForward(layers, weights).evaluate([NaN, 0])[0]).toBeNaN();
  });

  it('refuses shapes that do not fit', () => {
    expect(() => new FeedForward([], [])).toThrow(/at least one layer/);
    expect(() => new FeedForward(layers, weights.slice(0, 3))).toThrow(
      /layer 1 .* 2 kernel and undefined bias/,
    );
    expect(() => new FeedForward([layers[0], { ...layers[1], inputs: 1 }], [...weights.slice(0, 2), Float32Array.of(1), Float32Array.of(1)])).toThrow(/layer 1 takes 1 numbers, the one before gives 2/); // prettier-ignore
    expect(() => new FeedForward(layers, weights).evaluate([1])).toThrow(/1 numbers for a network of 2/);
  });
});
