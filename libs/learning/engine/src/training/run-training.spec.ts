import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { describeEachBackend } from '../../testing/backends';
import { smallAutoencoder, smallFeeds } from '../../testing/small-autoencoder';
import { compileStep } from '../step/compile-step';
import { type StepResult, type StepState, type TrainingStep } from '../step/step-definition';
import { loadCheckpoint } from './checkpoint';
import { fingerprintOf } from './fingerprint';
import { runTraining, type TrainingOptions } from './run-training';
import { oneCycle } from './schedules';

const TOTAL = 20;

let folder: string;
beforeEach(() => (folder = mkdtempSync(path.join(os.tmpdir(), 'training-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const settings = (step: TrainingStep, more: Partial<TrainingOptions> = {}): TrainingOptions => ({
  step,
  totalSteps: TOTAL,
  feeds: smallFeeds,
  learningRate: oneCycle({ peak: 1e-2, totalSteps: TOTAL }),
  seed: 3,
  fingerprint: { model: 'small' },
  historyEvery: 4,
  ...more,
});

/** A step without TensorFlow: its one parameter counts the steps, and its loss is told from outside. */
function countingStep(loss: (step: number) => number = (step) => step): TrainingStep {
  let done = 0;
  return {
    mode: 'eager',
    run: (): StepResult => {
      done++;
      return { loss: loss(done), metrics: { twice: 2 * done } };
    },
    parameters: () => ({ count: Float32Array.of(done) }),
    state: (): StepState => ({
      step: done,
      parameters: Float32Array.of(done),
      firstMoments: new Float32Array(1),
      secondMoments: new Float32Array(1),
    }),
    restore: (state) => (done = state.step),
    dispose: () => {},
  };
}

describeEachBackend('a stopped and resumed training', () => {
  it('ends with the same bytes as one that was never stopped', async () => {
    const whole = compileStep(smallAutoencoder());
    const uninterrupted = await runTraining(settings(whole));

    const checkpoint = { path: path.join(folder, 'job.checkpoint'), everySteps: 5 };
    const stop = new AbortController();
    const first = compileStep(smallAutoencoder());
    const cut = await runTraining(
      settings(first, {
        checkpoint,
        signal: stop.signal,
        // In the middle of a history entry and between two checkpoints.
        feeds: (i) => {
          if (i === 10) stop.abort();
          return smallFeeds(i);
        },
      }),
    );
    expect(cut).toMatchObject({ outcome: 'cancelled', steps: 11, resumedAt: 0 });

    const second = compileStep(smallAutoencoder());
    const resumed = await runTraining(settings(second, { checkpoint }));
    expect(resumed).toMatchObject({ outcome: 'done', steps: TOTAL, resumedAt: 11 });
    expect(second.state()).toEqual(whole.state());
    expect(resumed.history).toEqual(uninterrupted.history);
    for (const step of [whole, first, second]) step.dispose();
  });
});

describe('runTraining', () => {
  it('keeps means of each stretch of steps and tells them', async () => {
    const told: unknown[] = [];
    const { history, steps, outcome } = await runTraining(
      settings(countingStep(), { totalSteps: 6, onProgress: (progress) => told.push(progress) }),
    );
    expect({ steps, outcome }).toEqual({ steps: 6, outcome: 'done' });
    expect(history).toEqual([
      { step: 4, loss: 2.5, metrics: { twice: 5 } },
      { step: 6, loss: 5.5, metrics: { twice: 11 } },
    ]);
    expect(told).toEqual(history.map((entry) => ({ ...entry, totalSteps: 6 })));
  });

  it('stops early when it is told to', async () => {
    const { outcome, steps } = await runTraining(
      settings(countingStep(), { shouldStop: (history) => history.length === 2 }),
    );
    expect({ outcome, steps }).toEqual({ outcome: 'stopped-early', steps: 8 });
  });

  it('lets the event loop turn, so that a cancellation from outside is heard', async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 5);
    const result = await runTraining(
      settings(countingStep(), { totalSteps: 1e9, learningRate: () => 1, signal: stop.signal }),
    );
    expect(result.outcome).toBe('cancelled');
  });

  it('saves every so many steps and at the end', async () => {
    const checkpoint = { path: path.join(folder, 'job'), everySteps: 5 };
    const saved: (number | undefined)[] = [];
    const feeds = () => {
      saved.push(loadCheckpoint(checkpoint.path)?.state.step);
      return {};
    };
    await runTraining(settings(countingStep(), { totalSteps: 12, checkpoint, feeds }));
    expect(saved).toEqual([...Array(5), 5, 5, 5, 5, 5, 10, 10]);
    expect(loadCheckpoint(checkpoint.path)).toMatchObject({ state: { step: 12 }, window: { steps: 0 } });

    const again = await runTraining(settings(countingStep(), { totalSteps: 12, checkpoint }));
    expect(again).toMatchObject({ resumedAt: 12, steps: 12, outcome: 'done' });
  });

  it.each([
    ['other settings', { fingerprint: { model: 'large' } }, 'fingerprint'],
    ['another seed', { seed: 4 }, 'its seed is 3, this one’s is 4'],
    ['another length', { totalSteps: 40 }, 'its totalSteps is 20, this one’s is 40'],
  ])('refuses the checkpoint of a training with %s', async (_, change, message) => {
    const checkpoint = { path: path.join(folder, 'job'), everySteps: 5 };
    await runTraining(settings(countingStep(), { checkpoint }));
    await expect(runTraining(settings(countingStep(), { checkpoint, ...change }))).rejects.toMatchObject({
      code: 'other-training',
      message: expect.stringContaining(message.replaceAll('’', "'")),
    });
  });

  it('refuses a damaged checkpoint instead of starting over in silence', async () => {
    const checkpoint = { path: path.join(folder, 'job'), everySteps: 5 };
    await runTraining(settings(countingStep(), { checkpoint }));
    writeFileSync(checkpoint.path, readFileSync(checkpoint.path).subarray(0, 100));
    await expect(runTraining(settings(countingStep(), { checkpoint }))).rejects.toMatchObject({
      code: 'damaged',
    });
  });

  it('stops at the first loss that is not finite, naming the step, and does not save it', async () => {
    const checkpoint = { path: path.join(folder, 'job'), everySteps: 2 };
    const step = countingStep((i) => (i === 7 ? NaN : 1));
    await expect(runTraining(settings(step, { checkpoint }))).rejects.toMatchObject({
      code: 'diverged',
      message: expect.stringContaining('the loss of step 7 is NaN'),
    });
    expect(loadCheckpoint(checkpoint.path)?.state.step).toBe(6);
  });

  it.each([
    ['totalSteps', { totalSteps: 0 }],
    ['historyEvery', { historyEvery: 1.5 }],
    ['checkpoint.everySteps', { checkpoint: { path: 'x', everySteps: -1 } }],
  ])('refuses a %s that is no positive integer', async (name, change) => {
    await expect(runTraining(settings(countingStep(), change))).rejects.toThrow(
      `${name} must be a positive integer`,
    );
  });
});

describe('fingerprintOf', () => {
  it('depends on the data and not on the order of its keys', () => {
    expect(fingerprintOf({ a: 1, b: { c: [1, 2], d: 3 } })).toBe(
      fingerprintOf({ b: { d: 3, c: [1, 2] }, a: 1 }),
    );
    expect(fingerprintOf({ a: [1, 2] })).not.toBe(fingerprintOf({ a: [2, 1] }));
    expect(fingerprintOf({ a: 1 })).not.toBe(fingerprintOf({ a: '1' }));
  });
});
