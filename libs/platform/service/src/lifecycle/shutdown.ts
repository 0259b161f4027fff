export type StopSignal = 'SIGINT' | 'SIGTERM';

export interface Stopped {
  readonly signal: StopSignal;
  readonly outcome: 'in-order' | 'timed-out' | 'failed';
  readonly error?: unknown;
}

export interface ShutdownSettings {
  /** Stops everything, in order. */
  readonly stop: () => Promise<void>;
  readonly timeoutMs: number;
  readonly onSignal?: (signal: StopSignal) => void;
  /** Told when a second signal comes while stopping; ends the process with code 130 when left out. */
  readonly onImpatience?: () => void;
}

/** Waits for SIGTERM or SIGINT, then stops, within the time. @returns how it went; the caller ends the process */
export function stopOnSignal(settings: ShutdownSettings): Promise<Stopped> {
  const impatient = settings.onImpatience ?? (() => process.exit(130));
  return new Promise((resolve) => {
    let stopping = false;
    const onSignal = (signal: StopSignal): void => {
      if (stopping) return impatient();
      stopping = true;
      settings.onSignal?.(signal);
      void stopInTime(settings, signal).then((stopped) => {
        for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, onSignal);
        resolve(stopped);
      });
    };
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, onSignal);
  });
}

async function stopInTime({ stop, timeoutMs }: ShutdownSettings, signal: StopSignal): Promise<Stopped> {
  return { signal, ...(await endWithin(timeoutMs, stop)) };
}

/** Waits for the end of a stop, at most so long; never rejects. */
export async function endWithin(
  timeoutMs: number,
  stop: () => Promise<void>,
): Promise<Pick<Stopped, 'outcome' | 'error'>> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<{ outcome: 'timed-out' }>((resolve) => {
    timer = setTimeout(() => resolve({ outcome: 'timed-out' }), timeoutMs);
  });
  const done = Promise.resolve()
    .then(stop)
    .then(
      () => ({ outcome: 'in-order' as const }),
      (error: unknown) => ({ outcome: 'failed' as const, error }),
    );
  const ended = await Promise.race([done, late]);
  clearTimeout(timer);
  return ended;
}
