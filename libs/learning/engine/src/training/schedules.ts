import { EngineError } from '../errors';

/** The learning rate of each step, 0 … totalSteps − 1. */
export type Schedule = (stepIndex: number) => number;

export interface OneCycleSettings {
  /** The highest learning rate. */
  peak: number;
  totalSteps: number;
  /** Share of the steps in which the rate rises; 0.3 by default. */
  warmUpFraction?: number;
  /** The first rate is peak / this; 25 by default. */
  startDivisor?: number;
  /** The last rate is the first rate / this; 10⁴ by default. */
  finalDivisor?: number;
}

/**
 * One rise and one fall along half cosines (Smith and Topin 2018), with the same values at each step as PyTorch's
 * `OneCycleLR` with its cosine strategy.
 */
export function oneCycle(settings: OneCycleSettings): Schedule {
  const { peak, totalSteps, warmUpFraction = 0.3, startDivisor = 25, finalDivisor = 1e4 } = settings;
  assertSchedule(peak, totalSteps);
  if (!(warmUpFraction >= 0 && warmUpFraction <= 1)) {
    throw new EngineError('invalid-definition', `warmUpFraction must be in [0, 1], got ${warmUpFraction}`);
  }
  const start = peak / startDivisor;
  const end = start / finalDivisor;
  const top = warmUpFraction * totalSteps - 1;
  const last = totalSteps - 1;
  return (stepIndex) => {
    assertIndex(stepIndex, totalSteps);
    if (stepIndex <= top) return alongCosine(start, peak, top === 0 ? 1 : stepIndex / top);
    return alongCosine(peak, end, last === top ? 1 : (stepIndex - top) / (last - top));
  };
}

/** Falls from `peak` at the first step along half a cosine towards `final` (0 by default), reached after the last. */
export function cosineDecay(settings: { peak: number; totalSteps: number; final?: number }): Schedule {
  const { peak, totalSteps, final = 0 } = settings;
  assertSchedule(peak, totalSteps);
  return (stepIndex) => {
    assertIndex(stepIndex, totalSteps);
    return alongCosine(peak, final, stepIndex / totalSteps);
  };
}

export function constantRate(rate: number): Schedule {
  if (!(rate > 0))
    throw new EngineError('invalid-definition', `a learning rate must be positive, got ${rate}`);
  return () => rate;
}

const alongCosine = (from: number, to: number, share: number): number =>
  to + ((from - to) / 2) * (1 + Math.cos(Math.PI * share));

function assertSchedule(peak: number, totalSteps: number): void {
  if (!(peak > 0))
    throw new EngineError('invalid-definition', `a peak learning rate must be positive, got ${peak}`);
  if (!Number.isInteger(totalSteps) || totalSteps < 1) {
    throw new EngineError('invalid-definition', `totalSteps must be a positive integer, got ${totalSteps}`);
  }
}

function assertIndex(stepIndex: number, totalSteps: number): void {
  if (Number.isInteger(stepIndex) && stepIndex >= 0 && stepIndex < totalSteps) return;
  throw new EngineError(
    'invalid-definition',
    `step ${stepIndex} is outside the schedule's ${totalSteps} steps`,
  );
}
