import { setImmediate as turnOfEventLoop } from 'node:timers/promises';

import { CheckpointError, EngineError } from '../errors';
import { type StepResult, type TrainingStep, type Values } from '../step/step-definition';
import { type HistoryEntry, type HistoryWindow, loadCheckpoint, saveCheckpoint } from './checkpoint';
import { fingerprintOf, type TrainingIdentity } from './fingerprint';
import { type Schedule } from './schedules';

export interface TrainingProgress extends HistoryEntry {
  totalSteps: number;
}

export interface TrainingOptions {
  step: TrainingStep;
  totalSteps: number;
  /** The feeds of a step: a pure function of its index, so that a resumed training needs no generator's state. */
  feeds(stepIndex: number): Readonly<Record<string, Values>>;
  learningRate: Schedule;
  seed: number;
  /** Plain data that says what is trained, on what, and how: a checkpoint of another training is refused. */
  fingerprint: TrainingIdentity;
  checkpoint?: { path: string; everySteps: number };
  /** Steps that one entry of the history stands for; about a hundredth of all by default. */
  historyEvery?: number;
  /** Called with each new entry of the history. */
  onProgress?(progress: TrainingProgress): void;
  /** Asked after each new entry; true ends the training early. */
  shouldStop?(history: readonly HistoryEntry[]): boolean;
  signal?: AbortSignal;
}

export interface TrainingResult {
  /** Steps done in all, those before a resumption included. */
  steps: number;
  outcome: 'done' | 'stopped-early' | 'cancelled';
  /** The step at which this call began: 0, or that of the checkpoint. */
  resumedAt: number;
  history: HistoryEntry[];
}

/**
 * Takes steps until all are done, `shouldStop` says so, or the signal is aborted, and lets the event loop turn after
 * each. With a checkpoint path it goes on from the file that is there, saves one every so many steps, and saves one at
 * the end whatever the outcome; whoever has stored the result removes the file.
 *
 * A resumed training ends with the same weights as one that was never stopped, to the backend's determinism.
 *
 * @throws EngineError `diverged` naming the step whose loss is not finite
 * @throws CheckpointError when a checkpoint is there and does not fit or can't be read
 */
export async function runTraining(options: TrainingOptions): Promise<TrainingResult> {
  const { step, totalSteps, signal, checkpoint } = options;
  const historyEvery = options.historyEvery ?? Math.max(1, Math.round(totalSteps / 100));
  assertPositiveInteger('totalSteps', totalSteps);
  assertPositiveInteger('historyEvery', historyEvery);
  if (checkpoint) assertPositiveInteger('checkpoint.everySteps', checkpoint.everySteps);

  const progress = resume(options);
  const resumedAt = progress.done;
  const save = (): void => {
    if (!checkpoint) return;
    const { history, window } = progress;
    const { seed } = options;
    const fingerprint = fingerprintOf(options.fingerprint);
    saveCheckpoint(checkpoint.path, { seed, fingerprint, totalSteps, history, window, state: step.state() });
  };
  const end = (outcome: TrainingResult['outcome']): TrainingResult => {
    save();
    return { steps: progress.done, outcome, resumedAt, history: progress.history };
  };

  while (progress.done < totalSteps) {
    if (signal?.aborted) return end('cancelled');
    const result = step.run(options.feeds(progress.done), options.learningRate(progress.done));
    progress.done++;
    assertFinite(result, progress.done);
    addTo(progress.window, result);
    if (progress.done % historyEvery === 0 || progress.done === totalSteps) {
      const entry = entryOf(progress.window, progress.done);
      progress.history.push(entry);
      progress.window = emptyWindow();
      options.onProgress?.({ ...entry, totalSteps });
      if (progress.done < totalSteps && options.shouldStop?.(progress.history)) return end('stopped-early');
    }
    if (checkpoint && progress.done < totalSteps && progress.done % checkpoint.everySteps === 0) save();
    await turnOfEventLoop();
  }
  return end('done');
}

function resume(options: TrainingOptions): { done: number; history: HistoryEntry[]; window: HistoryWindow } {
  const { step, checkpoint, seed, totalSteps } = options;
  const saved = checkpoint && loadCheckpoint(checkpoint.path);
  if (!saved) return { done: 0, history: [], window: emptyWindow() };
  const wanted = { fingerprint: fingerprintOf(options.fingerprint), seed, totalSteps };
  for (const key of ['fingerprint', 'seed', 'totalSteps'] as const) {
    if (saved[key] === wanted[key]) continue;
    throw new CheckpointError(
      'other-training',
      `the checkpoint ${checkpoint.path} belongs to another training: its ${key} is ${saved[key]}, ` +
        `this one's is ${wanted[key]}; remove it to start over`,
    );
  }
  step.restore(saved.state);
  return { done: saved.state.step, history: saved.history, window: saved.window };
}

const emptyWindow = (): HistoryWindow => ({ steps: 0, loss: 0, metrics: {} });

function addTo(window: HistoryWindow, { loss, metrics }: StepResult): void {
  window.steps++;
  window.loss += loss;
  for (const [name, value] of Object.entries(metrics)) {
    window.metrics[name] = (window.metrics[name] ?? 0) + value;
  }
}

function entryOf(window: HistoryWindow, step: number): HistoryEntry {
  const means = Object.entries(window.metrics).map(([name, sum]) => [name, sum / window.steps]);
  return { step, loss: window.loss / window.steps, metrics: Object.fromEntries(means) };
}

function assertFinite({ loss }: StepResult, step: number): void {
  if (Number.isFinite(loss)) return;
  throw new EngineError(
    'diverged',
    `the loss of step ${step} is ${loss}: lower the learning rate, or look for a division by 0 or a log of 0 in the loss`,
  );
}

function assertPositiveInteger(name: string, value: number): void {
  if (Number.isInteger(value) && value > 0) return;
  throw new EngineError('invalid-definition', `${name} must be a positive integer, got ${value}`);
}
