import { rmSync } from 'node:fs';
import path from 'node:path';
import { type FitSettings } from '@undertone/classification';
import { CheckpointError } from '@undertone/engine';
import { type TrainerContext } from '@undertone/jobs';

const CHECKPOINTS = 20;
const LONGEST_STRETCH = 500;

/** Where a fit on `rows` keeps its state, and how often: some twenty times. */
export function checkpointOf(
  { folder }: TrainerContext,
  name: string,
  rows: number,
  { epochs, batch }: FitSettings,
): { path: string; everySteps: number } {
  const steps = epochs * Math.ceil(rows / batch);
  return {
    path: path.join(folder, `${name}.checkpoint`),
    everySteps: Math.min(Math.ceil(steps / CHECKPOINTS), LONGEST_STRETCH),
  };
}

/**
 * Runs a fit; where its checkpoint is damaged (a power cut) or of another version of this program, removes it and
 * starts over, since what the job is asked hasn't changed.
 */
export async function withUsableCheckpoint<T>(file: string, fit: () => Promise<T>): Promise<T> {
  try {
    return await fit();
  } catch (error) {
    const unusable =
      error instanceof CheckpointError && (error.code === 'damaged' || error.code === 'other-training');
    if (!unusable) throw error;
    rmSync(file, { force: true });
    return fit();
  }
}
