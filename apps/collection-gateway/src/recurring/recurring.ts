export interface RecurringSettings {
  /** Pause between two runs. */
  readonly everyMs: number;
  readonly onFailure: (error: unknown) => void;
}

/** Does the same work again and again, one run at a time; a run that fails is told and the next one comes all the same. */
export class Recurring {
  private timer: NodeJS.Timeout | undefined;
  private run: Promise<void> | undefined;
  private state: 'idle' | 'going' | 'stopped' = 'idle';
  private isWanted = false;
  private hasFailed = false;

  constructor(
    private readonly work: () => Promise<unknown>,
    private readonly settings: RecurringSettings,
  ) {}

  get isStopped(): boolean {
    return this.state === 'stopped';
  }

  /** The first run begins after one pause. */
  start(): void {
    this.state = 'going';
    this.schedule(this.settings.everyMs);
  }

  /** A run begins at once, or as soon as the one under way ends; after one that failed the pause is kept. */
  wake(): void {
    if (this.state !== 'going' || this.hasFailed) return;
    this.isWanted = true;
    if (this.run === undefined) this.schedule(0);
  }

  /** Resolves when nothing runs and nothing will. */
  async stop(): Promise<void> {
    this.state = 'stopped';
    clearTimeout(this.timer);
    await this.run;
  }

  private schedule(afterMs: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.run = this.runOnce()), afterMs);
    this.timer.unref();
  }

  private async runOnce(): Promise<void> {
    this.isWanted = false;
    this.hasFailed = false;
    try {
      await this.work();
    } catch (error) {
      this.hasFailed = true;
      this.settings.onFailure(error);
    }
    this.run = undefined;
    if (this.state === 'going') this.schedule(this.isWanted && !this.hasFailed ? 0 : this.settings.everyMs);
  }
}
