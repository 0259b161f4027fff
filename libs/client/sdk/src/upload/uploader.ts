import { BatchReceipt, joinReports, MEDIA_TYPES, type ProblemKind } from '@undertone/protocol';
import {
  type GatewayAnswer,
  type GatewayClient,
  unexpectedAnswer,
  Unusable,
} from '../gateway/gateway-client';
import type { Outbox, OutboxEntry, OutboxRejection } from '../outbox/outbox';
import { UndertoneError } from '../undertone-error';
import { cutIntoBatches } from './batches';

export interface UploadSettings {
  /** Reports in one request, at most `LIMITS.maximumBatch`. */
  readonly batch: number;
  /** Requests at once. */
  readonly concurrency: number;
}

export interface UploadOptions {
  readonly signal?: AbortSignal;
  /** Called after each request that settled reports. */
  readonly onProgress?: (settled: { acknowledged: number; rejected: number }) => void;
}

/** What an upload settled; entries that it couldn't settle still wait in the outbox, and `failure` says why. */
export interface UploadOutcome {
  acknowledged: number;
  rejected: number;
  failure?: UndertoneError;
}

type Verdict =
  | { kind: 'settled'; receipt: BatchReceipt }
  | { kind: 'split' }
  | { kind: 'rejected'; rejection: OutboxRejection }
  | { kind: 'stop'; error: UndertoneError };

/** Problems that a smaller batch may not have, and that one report alone can't shake off. */
const OF_THE_BODY: readonly ProblemKind[] = [
  'malformed-body',
  'malformed-report',
  'body-too-large',
  'batch-too-large',
  'invalid-request',
];
const TOO_LARGE = 413;

/** Sends remembered reports, each as the bytes that the outbox has, until the gateway has said what became of it. */
export class Uploader {
  readonly #inFlight = new Map<string, Promise<unknown>>();

  constructor(
    private readonly client: GatewayClient,
    private readonly outbox: Outbox,
    private readonly task: string,
    private readonly settings: UploadSettings,
  ) {}

  /** Settles `entries`; those that another call is sending already are only waited for. */
  async send(entries: readonly OutboxEntry[], options: UploadOptions = {}): Promise<UploadOutcome> {
    const elsewhere = entries.flatMap(({ id }) => this.#inFlight.get(id) ?? []);
    const own = entries.filter(({ id }) => !this.#inFlight.has(id));
    const sending = this.#sendBatches(cutIntoBatches(own, this.settings.batch), options);
    for (const { id } of own) this.#inFlight.set(id, sending);
    try {
      const [outcome] = await Promise.all([sending, Promise.allSettled(elsewhere)]);
      return outcome;
    } finally {
      for (const { id } of own) this.#inFlight.delete(id);
    }
  }

  async #sendBatches(queue: OutboxEntry[][], options: UploadOptions): Promise<UploadOutcome> {
    const outcome: UploadOutcome = { acknowledged: 0, rejected: 0 };
    let fault: { error: unknown } | undefined;
    const work = async () => {
      while (queue.length > 0 && !outcome.failure && !fault) {
        try {
          await this.#sendBatch(queue.shift()!, outcome, options);
        } catch (error) {
          if (error instanceof UndertoneError) outcome.failure ??= error;
          else fault ??= { error };
        }
      }
    };
    await Promise.all(Array.from({ length: this.settings.concurrency }, work));
    if (fault) throw fault.error;
    return outcome;
  }

  async #sendBatch(batch: OutboxEntry[], outcome: UploadOutcome, options: UploadOptions): Promise<void> {
    const verdict = await this.#post(batch, options.signal);
    switch (verdict.kind) {
      case 'settled':
        return this.#settle(batch, verdict.receipt, outcome, options);
      case 'rejected': {
        const rejected = batch.map((_, index) => ({ index, ...verdict.rejection }));
        return this.#settle(batch, { rejected }, outcome, options);
      }
      case 'split': {
        const half = batch.length >> 1;
        await this.#sendBatch(batch.slice(0, half), outcome, options);
        return this.#sendBatch(batch.slice(half), outcome, options);
      }
      case 'stop':
        throw verdict.error;
    }
  }

  async #settle(
    batch: OutboxEntry[],
    { rejected }: { rejected: readonly ({ index: number } & OutboxRejection)[] },
    outcome: UploadOutcome,
    { onProgress }: UploadOptions,
  ): Promise<void> {
    const refused = new Set(rejected.map(({ index }) => index));
    for (const { index, reason, detail } of rejected)
      await this.outbox.reject(batch[index].id, { reason, detail });
    await this.outbox.acknowledge(batch.flatMap(({ id }, index) => (refused.has(index) ? [] : id)));
    outcome.acknowledged += batch.length - refused.size;
    outcome.rejected += refused.size;
    onProgress?.({ acknowledged: batch.length - refused.size, rejected: refused.size });
  }

  #post(batch: OutboxEntry[], signal: AbortSignal | undefined): Promise<Verdict> {
    const request = {
      method: 'POST',
      path: `v1/tasks/${this.task}/reports`,
      accept: MEDIA_TYPES.json,
      body: { type: MEDIA_TYPES.cbor, bytes: joinReports(batch.map(({ bytes }) => bytes)) },
      signal,
    } as const;
    return this.client.request(request, (answer) => this.#verdict(answer, batch));
  }

  #verdict(answer: GatewayAnswer, batch: OutboxEntry[]): Verdict {
    const { status, problem } = answer;
    if ((status >= 200 && status < 300) || problem?.kind === 'reports-rejected')
      return { kind: 'settled', receipt: readReceipt(answer, batch) };
    const isOfTheBody = problem ? OF_THE_BODY.includes(problem.kind) : status === TOO_LARGE;
    if (isOfTheBody && batch.length > 1) return { kind: 'split' };
    // Only the gateway's own word settles a report: what a proxy in between says may be otherwise tomorrow.
    if (problem && (isOfTheBody || problem.kind === 'closed-task'))
      return { kind: 'rejected', rejection: { reason: problem.kind, detail: problem.detail } };
    return { kind: 'stop', error: unexpectedAnswer(`reports of task ${this.task} can't be sent`, answer) };
  }
}

/** A receipt that accounts for each report of the batch once; whatever else comes as success is asked for again. */
function readReceipt({ status, body }: GatewayAnswer, batch: readonly OutboxEntry[]): BatchReceipt {
  const unusable = (why: string) => new Unusable(`the answer ${status} is no receipt: ${why}`, { status });
  let receipt: BatchReceipt;
  try {
    receipt = BatchReceipt.parse(JSON.parse(new TextDecoder().decode(body)));
  } catch {
    throw unusable('its body has another form');
  }
  const indices = new Set(receipt.rejected.map(({ index }) => index));
  if (indices.size !== receipt.rejected.length || receipt.accepted + indices.size !== batch.length)
    throw unusable(`it accounts for ${receipt.accepted + indices.size} of ${batch.length} reports`);
  if (receipt.rejected.some(({ index, id }) => !(index in batch) || (id !== null && id !== batch[index].id)))
    throw unusable('it rejects a report that was not sent');
  return receipt;
}
