import { type JobView } from './platform-client';
import { type CommandContext } from '../command-context';
import { type Progress } from '../output/terminal';

/** Follows a job with one progress bar per stage; Ctrl-C cancels the job. */
export async function followWithProgress(
  { api, terminal, signal }: CommandContext,
  path: string,
): Promise<JobView> {
  let stage = '';
  let bar: Progress | undefined;
  try {
    return await api.followJob(
      path,
      ({ progress }) => {
        if (!progress) return;
        if (progress.stage !== stage) {
          bar?.stop();
          stage = progress.stage;
          bar = terminal.progress(stage, progress.total);
        }
        bar?.update(progress.done, figuresOf(progress.figures));
      },
      signal,
    );
  } finally {
    bar?.stop();
  }
}

const figuresOf = (figures: Record<string, number> = {}): string =>
  Object.entries(figures)
    .map(([name, value]) => `${name} ${Number(value.toPrecision(4))}`)
    .join(', ');
