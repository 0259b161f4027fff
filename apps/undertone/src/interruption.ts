/** Thrown out of a command that Ctrl-C or SIGTERM ended; the process then exits with code 130. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  constructor(signal: NodeJS.Signals) {
    super(`interrupted by ${signal}`);
  }
}

/** Aborts on the first SIGINT or SIGTERM so that a command can stop cleanly; the second one ends the process at once. */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(130);
      controller.abort(new Interrupted(name));
    });
  }
  return controller.signal;
}
