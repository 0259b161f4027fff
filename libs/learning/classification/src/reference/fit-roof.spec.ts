import { initialiseBackend } from '@undertone/engine';
import { DeterministicRandom } from '@undertone/ldp/testing';
import { uniformUnit } from '@undertone/ldp';
import { LABELS, toyClasses, toyPrior, toyRandomiser, VERTICES } from '../../testing/toy-task';
import { evaluate } from '../evaluation/evaluate';
import { fitRoof } from './fit-roof';

beforeAll(() => initialiseBackend());

describe('the roof without privacy', () => {
  const random = new DeterministicRandom(1);
  const truth = toyClasses(1000);
  const codes = Float64Array.from(
    truth.flatMap((y) => VERTICES[y].map((v) => 0.9 * v + 0.2 * (uniformUnit(random) - 0.5))),
  );
  const request = { randomiser: toyRandomiser(1, 1), prior: toyPrior, labels: LABELS, codes, truth, seed: 1 };
  const settings = { hidden: [16], epochs: 20, batch: 100, peakLearningRate: 1e-2 };

  it('is reached on clean codes and clean labels', async () => {
    const roof = await fitRoof({ ...request, settings });
    expect(evaluate({ classifier: roof, codes, labels: truth }).clean.accuracy).toBeGreaterThan(0.99);
  });

  it('refuses labels outside the classes', async () => {
    await expect(fitRoof({ ...request, truth: truth.map((y, i) => (i === 7 ? 4 : y)) })).rejects.toThrow(
      /row 7 is 4/,
    );
    await expect(fitRoof({ ...request, truth: [] })).rejects.toThrow(/at least one/);
  });
});
