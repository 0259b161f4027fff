import { constantRate, cosineDecay, oneCycle } from './schedules';

describe('oneCycle', () => {
  // torch.optim.lr_scheduler.OneCycleLR of PyTorch 2.15: (max_lr, total_steps, pct_start) and the rate of each step.
  it.each([
    [
      1e-3,
      10,
      0.3,
      [
        4e-5, 5.2e-4, 1e-3, 9.504846320134736e-4, 8.11745653949763e-4, 6.112620219362892e-4,
        3.8874197806371076e-4, 1.8825834605023698e-4, 4.9519367986526286e-5, 4e-9,
      ],
    ],
    [
      3e-3,
      7,
      0.1,
      [
        2.9832463063527354e-3, 2.6956999780393407e-3, 2.116934186973299e-3, 1.387911308000925e-3,
        6.861898594789441e-4, 1.8267890927409723e-4, 1.2e-8,
      ],
    ],
    [0.5, 5, 0.5, [0.02, 0.38, 0.4522544395767425, 0.17274706042325755, 2e-6]],
  ])(
    'has the rates of PyTorch for a peak of %p over %p steps',
    (peak, totalSteps, warmUpFraction, expected) => {
      const rate = oneCycle({ peak, totalSteps, warmUpFraction });
      expected.forEach((value, i) => expect(Math.abs(rate(i) / value - 1)).toBeLessThan(1e-9));
    },
  );

  it('is defined for a single step', () => {
    expect(oneCycle({ peak: 1, totalSteps: 1 })(0)).toBeGreaterThan(0);
  });

  it('refuses steps outside and settings that can’t be', () => {
    expect(() => oneCycle({ peak: 1, totalSteps: 5 })(5)).toThrow(
      'step 5 is outside the schedule’s 5 steps'.replace('’', "'"),
    );
    expect(() => oneCycle({ peak: 0, totalSteps: 5 })).toThrow('got 0');
    expect(() => oneCycle({ peak: 1, totalSteps: 2.5 })).toThrow('got 2.5');
    expect(() => oneCycle({ peak: 1, totalSteps: 5, warmUpFraction: 2 })).toThrow('got 2');
  });
});

describe('other schedules', () => {
  it('cosineDecay falls from the peak towards the final rate', () => {
    const rate = cosineDecay({ peak: 2, totalSteps: 4, final: 1 });
    expect([0, 1, 2, 3].map((i) => rate(i).toFixed(4))).toEqual(['2.0000', '1.8536', '1.5000', '1.1464']);
  });

  it('constantRate stays', () => {
    expect(constantRate(0.1)(1000)).toBe(0.1);
    expect(() => constantRate(0)).toThrow('positive');
  });
});
