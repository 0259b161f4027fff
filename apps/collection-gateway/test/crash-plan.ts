/**
 * Where something is lost, the next time that an ingest comes there.
 * - `statement`: the n-th statement of the ingest's transactions from now.
 * - `offset-commit`: what the ingest tells the log about how far it is, if it does: after a batch was handled.
 */
export interface Crash {
  readonly step: { readonly at: 'statement'; readonly number: number } | { readonly at: 'offset-commit' };
  /** In place of the step, or right after it was carried out. */
  readonly when: 'before' | 'after';
  /** The connection alone, or the process as `kill -9` ends it. */
  readonly loses: 'connection' | 'process';
}

/** At most one crash to come, met by whichever ingest gets there first. */
export class CrashPlan {
  private crash: Crash | undefined;
  private statements = 0;

  arm(crash: Crash | undefined): void {
    this.crash = crash;
    this.statements = 0;
  }

  /** False once it has happened. */
  get isArmed(): boolean {
    return this.crash !== undefined;
  }

  /** To be called at each step; the crash where it is to happen here. */
  reach(step: Crash['step']['at']): Crash | undefined {
    const { crash } = this;
    if (crash?.step.at !== step) return undefined;
    if (crash.step.at === 'statement' && ++this.statements < crash.step.number) return undefined;
    this.crash = undefined;
    return crash;
  }
}
