import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { JobError } from '../src/job-errors';
import { runTrainer } from '../src/trainer';

/** What the counting trainer is asked: to count to a number, and what may go wrong on the way. */
export type CountRequest = {
  to: number;
  stepMs: number;
  /** Crashes on the way to this count, on each attempt. */
  crashAt?: number;
  /** Fails with a code of its own at this count. */
  failAt?: number;
  /** Doesn't listen to being stopped. */
  deaf?: 'yes';
};

/** `product` depends on every step, as weights do; `starts` are the counts at which its attempts began. */
export type CountResult = { count: number; product: number; starts: number[] };

const PRIME = 1_000_003;

runTrainer<CountRequest, CountResult>(async (request, { folder, signal, progress }) => {
  const file = path.join(folder, 'checkpoint.json');
  const state: CountResult = existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as CountResult)
    : { count: 0, product: 1, starts: [] };
  state.starts.push(state.count);
  while (state.count < request.to) {
    await sleep(request.stepMs);
    state.count++;
    if (state.count === request.crashAt) {
      process.stderr.write('FATAL ERROR: heap limit reached\n 1: 0xb85bc0 node::Abort() [node]\n');
      process.kill(process.pid, 'SIGABRT');
    }
    state.product = (state.product * (state.count + 7)) % PRIME;
    writeFileSync(`${file}.${process.pid}`, JSON.stringify(state));
    renameSync(`${file}.${process.pid}`, file);
    progress({ stage: 'counting', done: state.count, total: request.to });
    if (state.count === request.failAt)
      throw new JobError('no-such-number', `can't count past ${state.count}`);
    if (!request.deaf) signal.throwIfAborted();
  }
  return state;
});
