import { type Subscription } from '@undertone/report-log';

export interface WatchSettings {
  /** A subscription that did nothing for longer is stuck. */
  readonly stallMs: number;
  /** Told once, where only a new process helps. */
  readonly onFailure: (failure: IngestError) => void;
}

/** Why no more reports are stored, although nobody stopped the ingest. */
export class IngestError extends Error {
  override readonly name = 'IngestError';

  constructor(
    readonly code: 'ingest-dead' | 'ingest-stuck',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

const LOOKS_A_STALL = 8;
const RARELY_MS = 5_000;

/** Notices a subscription that has died, and one that neither dies nor does anything. */
export class IngestWatch {
  private readonly subscription: Subscription;
  private readonly timer: NodeJS.Timeout;
  private readonly everyMs: number;
  private lastLook = Date.now();
  /** Before it, this process itself stood still, and its subscriptions with it. */
  private awakeSince = 0;
  private over = false;

  constructor(
    subscription: Subscription,
    private readonly settings: WatchSettings,
  ) {
    this.subscription = subscription;
    this.everyMs = Math.min(settings.stallMs / LOOKS_A_STALL, RARELY_MS);
    this.timer = setInterval(() => this.look(), this.everyMs);
    this.timer.unref();
    void subscription.died.then((reason) =>
      this.fail(
        new IngestError('ingest-dead', `the ingest of reports has ended by itself: ${reason.message}`, {
          cause: reason,
        }),
      ),
    );
  }

  /** How long ago the subscription last did anything. */
  inactiveSeconds(): number {
    return Math.max(0, (Date.now() - this.subscription.lastActiveAt().getTime()) / 1000);
  }

  stop(): void {
    this.over = true;
    clearInterval(this.timer);
  }

  private look(): void {
    const now = Date.now();
    // A look that is late by far: the machine slept, or the clock was set.
    if (now - this.lastLook > 2 * this.everyMs) this.awakeSince = now;
    this.lastLook = now;
    const active = Math.max(this.subscription.lastActiveAt().getTime(), this.awakeSince);
    const { stallMs } = this.settings;
    if (now - active <= stallMs) return;
    this.fail(
      new IngestError(
        'ingest-stuck',
        `the ingest of reports has done nothing for ${Math.round(now - active)} ms (UNDERTONE_INGEST_STALL_MS is ${stallMs})`,
      ),
    );
  }

  private fail(failure: IngestError): void {
    if (this.over) return;
    this.stop();
    this.settings.onFailure(failure);
  }
}
