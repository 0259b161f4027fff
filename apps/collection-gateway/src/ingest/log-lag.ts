import { type LogPositions, type ReportLog } from '@undertone/report-log';

/** How long a reader of the lag waits for a log that may be away. */
const PATIENCE_MS = 2_000;

/** How many entries the ingest has still to deal with. However many ask, the log is asked twice at the same time at most. */
export class LogLag {
  private running: Promise<number> | undefined;
  private next: Promise<number> | undefined;

  constructor(
    private readonly log: Pick<ReportLog, 'lag'>,
    private readonly positions: LogPositions,
  ) {}

  /** As it was at some moment after the call. Rejects as the log does. */
  read(): Promise<number> {
    if (this.running === undefined) return this.ask();
    // The question under way may have been answered before what the caller knows of.
    const ended = this.running.catch(() => undefined);
    this.next ??= ended.then(() => {
      this.next = undefined;
      return this.ask();
    });
    return this.next;
  }

  /** The same; `undefined` where the log doesn't answer within two seconds, or with an error. */
  async readSoon(): Promise<number | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), PATIENCE_MS);
    });
    try {
      return await Promise.race([this.read().catch(() => undefined), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  private ask(): Promise<number> {
    const asked = this.log.lag(this.positions).finally(() => {
      if (this.running === asked) this.running = undefined;
    });
    this.running = asked;
    return asked;
  }
}
