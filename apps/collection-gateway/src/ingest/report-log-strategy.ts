import { type CustomTransportStrategy, type MessageHandler, Server } from '@nestjs/microservices';
import { type LogBatch, type LogConsumer, type ReportLog, type Subscription } from '@undertone/report-log';
import { isObservable, lastValueFrom } from 'rxjs';

/** Says of an event handler that the report log feeds it. */
export const REPORT_LOG = Symbol('report log');

/** The one event of this transport; its data is a `LogBatch`. */
export const REPORT_BATCH = 'report batch';

/** A service whose parts don't fit together: a fault of the program, found when it starts. */
export class WiringError extends Error {
  override readonly name = 'WiringError';
  readonly code = 'wiring';
}

/**
 * Feeds batches of any report log to the one event handler that is registered for them: a handler that throws gets its batch
 * again, as `LogConsumer.handle` says. It gets its data as it is in the log: nothing is validated on the way.
 */
export class ReportLogStrategy extends Server implements CustomTransportStrategy {
  override readonly transportId = REPORT_LOG;
  private readonly handlers: { pattern: unknown; handle: MessageHandler }[] = [];
  private current: Subscription | undefined;

  /** @param consumer whose positions are read: everything of a consumer but the handler */
  constructor(
    private readonly log: Pick<ReportLog, 'subscribe'>,
    private readonly consumer: Omit<LogConsumer, 'handle'>,
    private readonly onSubscribed: (subscription: Subscription) => void = () => undefined,
  ) {
    super();
  }

  override addHandler(pattern: unknown, handle: MessageHandler): void {
    this.handlers.push({ pattern, handle });
  }

  /** Tells the callback a WiringError unless there is exactly one handler, and of the right event. */
  listen(callback: (error?: Error) => void): void {
    const fault = this.wiringFault();
    if (fault !== undefined) return callback(new WiringError(fault));
    const [{ handle }] = this.handlers;
    const { consumer } = this;
    this.current = this.log.subscribe({
      name: consumer.name,
      positionOf: (partition) => consumer.positionOf(partition),
      handle: (batch) => run(handle, batch),
    });
    this.onSubscribed(this.current);
    callback();
  }

  /** Resolves when no handler runs and none will. */
  async close(): Promise<void> {
    await this.current?.stop();
  }

  on(): never {
    throw new Error('the report log has no events to listen to');
  }

  unwrap<T>(): T {
    return this.current as T;
  }

  private wiringFault(): string | undefined {
    const patterns = this.handlers.map(({ pattern }) => JSON.stringify(pattern));
    if (patterns.length === 1 && this.handlers[0].pattern === REPORT_BATCH) return undefined;
    const found = patterns.length === 0 ? 'there is none' : `there are handlers of ${patterns.join(', ')}`;
    return `the report log feeds exactly one handler, of the event "${REPORT_BATCH}", and ${found}`;
  }
}

/** Nest hands an error over as an observable that fails. */
async function run(handle: MessageHandler, batch: LogBatch): Promise<void> {
  const result: unknown = await handle(batch);
  if (isObservable(result)) await lastValueFrom(result, { defaultValue: undefined });
}
