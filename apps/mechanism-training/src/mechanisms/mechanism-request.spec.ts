import { MechanismRequest } from './mechanism-request';

const request = { name: 'digits', dataset: { source: 'mnist', part: 'train' }, d1: 'public', epsilon: 8 };
const conditioned = (epsilonRange?: object): object => ({
  ...request,
  epsilon: 1,
  settings: { mode: 'conditioned', ...(epsilonRange && { epsilonRange }) },
});

it('takes an encoder conditioned on a range of ε that holds the one of the reports', () => {
  expect(MechanismRequest.safeParse(conditioned({ low: 0.5, high: 4 })).success).toBe(true);
  expect(MechanismRequest.safeParse({ ...request, settings: { mode: 'conditioned' } }).success).toBe(true);
  expect(MechanismRequest.safeParse({ ...request, epsilon: 1 }).success).toBe(true);
});

it.each([undefined, { low: 0.6, high: 4 }, { low: 0.1, high: 0.4 }])(
  'refuses one that could not be published for the reports, before it is trained: %j',
  (range) => {
    expect(MechanismRequest.safeParse(conditioned(range)).error?.issues).toEqual([
      expect.objectContaining({
        path: ['settings', 'epsilonRange'],
        message: expect.stringMatching(
          /must be trained for 0\.5, the share of ε that reports spend on features/,
        ),
      }),
    ]);
  },
);
