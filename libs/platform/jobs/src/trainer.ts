import { type JobProgress } from './job';
import { type FromTrainer, type Retry, type ToTrainer } from './trainer-protocol';

/** What a trainer gets besides its request. */
export interface TrainerContext {
  /** Absolute path of the work folder: checkpoints and outputs go here, and are found again by the next attempt. */
  folder: string;
  /** Which attempt this is, from 1. */
  attempt: number;
  /** Aborted when the job is cancelled, the service stops or has died: save a checkpoint and return or throw. */
  signal: AbortSignal;
  /** Tells how far it is; cheap enough to be called at every step. */
  progress(progress: JobProgress): void;
}

const PROGRESS_INTERVAL_MS = 100;
const ORPHAN_LIMIT_MS = 60_000;

/**
 * Makes this process a trainer: it waits for its request, trains, sends the result to the service and ends. Without
 * its service it saves and ends too, since nobody would take the result. Ctrl-C reaches the whole group of processes
 * and is left to the service to answer.
 *
 * An error with a stable `code` of its own fails the job at once; one of the operating system (disk full) is retried.
 */
export function runTrainer<Request, Result>(
  train: (request: Request, context: TrainerContext) => Promise<Result>,
): void {
  if (!process.send) {
    process.stderr.write('This program trains for a service, which starts it: it does nothing alone.\n');
    process.exit(2);
  }
  const abort = new AbortController();
  let started = false;
  let lastProgress = -Infinity;

  const leave = (message: FromTrainer): void => {
    if (!process.connected) process.exit(0);
    process.send?.(message, () => process.exit(0));
  };
  const progress = (value: JobProgress): void => {
    const now = performance.now();
    const stageEnds = value.done >= value.total;
    if (!process.connected || (now - lastProgress < PROGRESS_INTERVAL_MS && !stageEnds)) return;
    lastProgress = now;
    process.send?.({ type: 'progress', progress: value } satisfies FromTrainer, () => undefined);
  };
  const start = async (message: Extract<ToTrainer, { type: 'start' }>): Promise<void> => {
    const { request, folder, attempt } = message;
    try {
      const result = await train(request as Request, { folder, attempt, signal: abort.signal, progress });
      leave({ type: 'result', result });
    } catch (error) {
      if (abort.signal.aborted) return leave({ type: 'stopped' });
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
      leave(failureOf(error));
    }
  };

  process.on('message', (message: ToTrainer) => {
    if (message.type === 'start' && !started) {
      started = true;
      void start(message);
    } else if (message.type === 'stop') {
      abort.abort();
      if (!started) leave({ type: 'stopped' });
    }
  });
  process.on('disconnect', () => {
    abort.abort();
    if (!started) process.exit(0);
    setTimeout(() => process.exit(1), ORPHAN_LIMIT_MS).unref();
  });
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => abort.abort());
  process.send({ type: 'ready' } satisfies FromTrainer);
}

function failureOf(error: unknown): Extract<FromTrainer, { type: 'failure' }> {
  if (!(error instanceof Error)) {
    return { type: 'failure', code: 'trainer-error', message: String(error), retry: 'pointless' };
  }
  const { code, errno } = error as Error & { code?: unknown; errno?: unknown };
  const retry: Retry = typeof errno === 'number' ? 'worthwhile' : 'pointless';
  return {
    type: 'failure',
    code: typeof code === 'string' ? code : 'trainer-error',
    message: error.message,
    retry,
  };
}
