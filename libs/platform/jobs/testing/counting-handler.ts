import path from 'node:path';
import { type JobHandler } from '../src/job-handlers';
import { type CountRequest, type CountResult } from './counting-trainer';

export const typescript = ['--require', path.resolve(__dirname, '../../../../tools/typescript.cjs')];

/** Serves the kind "count" with the trainer beside this file. */
export function countingHandler(
  changes: Partial<JobHandler<CountRequest, CountResult>> = {},
): JobHandler<CountRequest, CountResult> {
  return {
    kind: 'count',
    script: path.join(__dirname, 'counting-trainer.ts'),
    execArgv: typescript,
    prepare: async ({ job }) => job.request as CountRequest,
    complete: async (result) => ({ result, store: async () => undefined }),
    ...changes,
  };
}
