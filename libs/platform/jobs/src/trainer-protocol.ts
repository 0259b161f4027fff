import { type JobProgress } from './job';

/** From the service to the trainer process. */
export type ToTrainer =
  | { type: 'start'; request: unknown; folder: string; attempt: number }
  /** Save a checkpoint and end. */
  | { type: 'stop' };

/** Whether another attempt may do better. */
export type Retry = 'worthwhile' | 'pointless';

/** From the trainer process to the service. */
export type FromTrainer =
  | { type: 'ready' }
  | { type: 'progress'; progress: JobProgress }
  | { type: 'result'; result: unknown }
  | { type: 'failure'; code: string; message: string; retry: Retry }
  | { type: 'stopped' };
