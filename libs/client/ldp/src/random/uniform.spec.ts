import fc from 'fast-check';
import { ScriptedRandom } from '../../testing/scripted-random';
import { uniformBelow, uniformUnit } from './uniform';

const TWO_32 = 2 ** 32;

describe('uniformUnit', () => {
  it('is k/2^53 for the 53 low bits k, whatever the other bits', () => {
    const draw = (k: number, sign: 1 | -1) => uniformUnit(new ScriptedRandom([ScriptedRandom.word(k, sign)]));
    for (const sign of [1, -1] as const) {
      expect(draw(0, sign)).toBe(0);
      expect(draw(1, sign)).toBe(2 ** -53);
      expect(draw(2 ** 52, sign)).toBe(0.5);
      expect(draw(2 ** 53 - 1, sign)).toBe(1 - 2 ** -53);
    }
  });
});

describe('uniformBelow', () => {
  it('gives each value equally many words: whole blocks of n, and the rest is drawn again', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: TWO_32 - 1 }), (n) => {
        const blocks = Math.floor(TWO_32 / n);
        const draw = (word: number) => {
          const random = new ScriptedRandom([ScriptedRandom.word(word), ScriptedRandom.word(0)]);
          return { value: uniformBelow(random, n), calls: random.calls };
        };
        expect(draw(0)).toEqual({ value: 0, calls: 1 });
        expect(draw(n * blocks - 1)).toEqual({ value: n - 1, calls: 1 });
        if (n * blocks < TWO_32) expect(draw(n * blocks)).toEqual({ value: 0, calls: 2 });
        if (n * blocks < TWO_32) expect(draw(TWO_32 - 1)).toEqual({ value: 0, calls: 2 });
      }),
    );
  });

  it('stops on a source that repeats a refused word', () => {
    const stuck = new ScriptedRandom([ScriptedRandom.word(TWO_32 - 1)]);
    expect(() => uniformBelow(stuck, 3)).toThrow(expect.objectContaining({ code: 'no-random-source' }));
  });

  it.each([0, -1, 1.5, NaN, TWO_32 + 1])('refuses n = %p', (n) => {
    expect(() => uniformBelow(new ScriptedRandom([new Uint8Array(8)]), n)).toThrow(/integer from 1 to 2\^32/);
  });
});
