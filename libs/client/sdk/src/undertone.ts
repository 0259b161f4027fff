import { type Artifact, openArtifact, type RawRecord } from '@undertone/artifact';
import { type RandomSource, WebCryptoRandom } from '@undertone/ldp';
import {
  decodeReport,
  encodeReport,
  LIMITS,
  type Report,
  REPORT_ID_BYTES,
  type TaskDocument,
} from '@undertone/protocol';
import { fetchArtifact, fetchTask } from './gateway/task';
import { GatewayClient } from './gateway/gateway-client';
import { type RetryPolicy, retryPolicy } from './gateway/retry-policy';
import { MemoryOutbox } from './outbox/memory-outbox';
import type { Outbox, OutboxEntry, OutboxRejection } from './outbox/outbox';
import { UndertoneError } from './undertone-error';
import { Uploader, type UploadOptions, type UploadSettings } from './upload/uploader';

export interface ConnectOptions {
  /** The gateway, `https://…`; a path in it is kept. */
  readonly url: string;
  readonly task: string;
  /** Ed25519 public keys (hex) of those whose artifacts this app runs. */
  readonly trustedKeys: readonly string[];
  /** The largest ε that this app lets one record spend: an artifact whose claim is above it is refused. */
  readonly maximumEpsilon: number;
  /** Where drawn reports are remembered; in memory where absent, which a restart forgets. */
  readonly outbox?: Outbox;
  /** Cryptographic; the platform's own where absent. */
  readonly random?: RandomSource;
  readonly fetch?: typeof globalThis.fetch;
  readonly retry?: Partial<RetryPolicy>;
  /** 500 reports a request and 2 requests at once where absent. */
  readonly upload?: Partial<UploadSettings>;
  readonly signal?: AbortSignal;
}

export interface RecordOptions {
  /**
   * Names the record for good, whatever becomes of its content: at most one report is ever drawn for a key under an
   * artifact. Without it each call is a record of its own.
   */
  readonly recordKey?: string;
}

export interface FlushResult {
  /** Reports that the gateway took during this call. */
  readonly acknowledged: number;
  /** Reports that it refused for good during this call; the outbox keeps them with the reason. */
  readonly rejected: number;
  /** Reports of the task that still wait. */
  readonly waiting: number;
  /** Why some still wait, where this call gave up. */
  readonly failure?: UndertoneError;
}

export interface SubmitResult {
  readonly report: Report;
  readonly state: OutboxEntry['state'];
  readonly rejection?: OutboxRejection;
  /** Why the report still waits; the next `flush` sends it. */
  readonly failure?: UndertoneError;
}

const DEFAULT_UPLOAD: UploadSettings = { batch: 500, concurrency: 2 };

/** A device's side of one task: turns records into ε-LDP reports and gets each to the gateway once. */
export class Undertone {
  private constructor(
    /** As the gateway had it when this connected. */
    readonly task: TaskDocument,
    readonly artifact: Artifact,
    private readonly random: RandomSource,
    private readonly outbox: Outbox,
    private readonly uploader: Uploader,
  ) {}

  /**
   * Fetches a task and its artifact, and checks that the artifact is the one the task names, signed by a trusted key,
   * with a claim that the task states and the app allows.
   *
   * @throws UndertoneError `invalid-option`, `unknown-task`, `scheduled-task`, `closed-task`, `task-mismatch`,
   *   `epsilon-exceeded`, `unreachable`, `unexpected-answer` or `cancelled`; ArtifactError for a damaged, unsigned,
   *   untrusted or unknown artifact; LdpError where the platform has no cryptographic generator
   */
  static async connect(options: ConnectOptions): Promise<Undertone> {
    const { signal, maximumEpsilon } = options;
    const upload = uploadSettings(options.upload);
    if (!(maximumEpsilon > 0))
      throw new UndertoneError('invalid-option', `maximumEpsilon is ${maximumEpsilon}: it must be above 0`);
    // Untyped callers: 'any-signer' is for services that read back what they stored.
    if (!Array.isArray(options.trustedKeys))
      throw new UndertoneError(
        'invalid-option',
        'trustedKeys must be a list of the keys that this app trusts',
      );
    const random = options.random ?? new WebCryptoRandom();
    const client = new GatewayClient(
      options.url,
      options.fetch ?? globalThis.fetch,
      retryPolicy(options.retry),
    );
    const task = await fetchTask(client, options.task, signal);
    const file = await fetchArtifact(client, task, signal);
    const artifact = openArtifact(file, { trustedKeys: options.trustedKeys, expectedId: task.artifact });
    checkAgreement(task, artifact);
    const { epsilon } = artifact.body.claim;
    if (epsilon > maximumEpsilon)
      throw new UndertoneError(
        'epsilon-exceeded',
        `the artifact of task ${task.name} spends ε = ${epsilon} on a record; this app allows at most ${maximumEpsilon}`,
      );
    const outbox = options.outbox ?? new MemoryOutbox();
    return new Undertone(task, artifact, random, outbox, new Uploader(client, outbox, task.name, upload));
  }

  /**
   * The record's report: drawn on the first call for its key, in the outbox when this resolves, and the very same on
   * every later call, whatever record and label come with the key then.
   *
   * @param label one of the task's labels, or its index
   * @throws UndertoneError `unknown-label`, `reported-elsewhere` or `invalid-option`; InputError where the record
   *   doesn't fit the artifact's schema. Nothing is drawn then.
   */
  async privatise(record: RawRecord, label: string | number, options: RecordOptions = {}): Promise<Report> {
    return reportOf(await this.#remembered(record, label, options));
  }

  /**
   * Privatises a record and sends its report at once. A report that can't be sent now waits in the outbox.
   *
   * @throws as {@link privatise}
   */
  async submit(
    record: RawRecord,
    label: string | number,
    options: RecordOptions = {},
  ): Promise<SubmitResult> {
    const entry = await this.#remembered(record, label, options);
    const outcome = entry.state === 'waiting' ? await this.uploader.send([entry]) : undefined;
    const { state, rejection } = (await this.outbox.find(entry.recordKey, entry.artifact)) ?? entry;
    return { report: reportOf(entry), state, rejection, failure: outcome?.failure };
  }

  /**
   * Sends the task's waiting reports in batches, each as the bytes that it had when it was drawn, until the gateway
   * has taken or refused every one. Lost connections, server failures and pleas to wait are ridden out; where that
   * doesn't help, the rest waits in the outbox and `failure` says why. Nothing is dropped and nothing drawn again.
   */
  async flush(options: UploadOptions = {}): Promise<FlushResult> {
    const outcome = await this.uploader.send(await this.outbox.waiting(this.task.name), options);
    return { ...outcome, waiting: (await this.outbox.waiting(this.task.name)).length };
  }

  async #remembered(record: RawRecord, label: string | number, options: RecordOptions): Promise<OutboxEntry> {
    const { recordKey = hex(this.#bytes()) } = options;
    if (recordKey === '')
      throw new UndertoneError('invalid-option', 'recordKey is empty: it must name the record');
    const y = this.#labelIndex(label);
    const entry =
      (await this.outbox.find(recordKey, this.artifact.id)) ??
      (await this.outbox.keep(this.#draw(recordKey, record, y)));
    if (entry.task !== this.task.name)
      throw new UndertoneError(
        'reported-elsewhere',
        `record ${recordKey} was reported to task ${entry.task} under the same artifact: a second report would spend its ε twice`,
      );
    return entry;
  }

  #draw(recordKey: string, record: RawRecord, y: number): OutboxEntry {
    const z = this.artifact.encode(this.artifact.vectorise(record));
    const payload = this.artifact.randomiser.randomise(z, y, this.random);
    const report = { id: this.#bytes(), task: this.task.name, payload, artifact: this.artifact.id };
    return {
      recordKey,
      artifact: report.artifact,
      task: report.task,
      id: hex(report.id),
      bytes: encodeReport(report),
      state: 'waiting',
    };
  }

  #labelIndex(label: string | number): number {
    const { labels } = this.task;
    const index = typeof label === 'number' ? label : labels.indexOf(label);
    if (Number.isInteger(index) && index >= 0 && index < labels.length) return index;
    throw new UndertoneError(
      'unknown-label',
      typeof label === 'number'
        ? `the label is out of range: task ${this.task.name} has labels 0 to ${labels.length - 1}`
        : `the label is unknown: task ${this.task.name} has ${labels.map((l) => `"${l}"`).join(', ')}`,
    );
  }

  #bytes(): Uint8Array {
    const bytes = new Uint8Array(REPORT_ID_BYTES);
    this.random.fill(bytes);
    return bytes;
  }
}

/** A copy: what the app does to its report must not change the bytes that a retry sends. */
function reportOf({ bytes }: OutboxEntry): Report {
  return decodeReport(bytes.slice());
}

function checkAgreement(task: TaskDocument, { body, signer }: Artifact): void {
  const differs =
    task.signer !== signer
      ? `signer ${task.signer}, the artifact ${signer}`
      : task.epsilon !== body.claim.epsilon
        ? `ε = ${task.epsilon}, the artifact ${body.claim.epsilon}`
        : task.labels.join('\0') !== body.labels.join('\0')
          ? `labels ${task.labels.join(', ')}, the artifact ${body.labels.join(', ')}`
          : undefined;
  if (differs)
    throw new UndertoneError(
      'task-mismatch',
      `task ${task.name} doesn't agree with its artifact: it states ${differs}`,
    );
}

function uploadSettings(over: Partial<UploadSettings> = {}): UploadSettings {
  const { batch, concurrency } = { ...DEFAULT_UPLOAD, ...over };
  if (!Number.isInteger(batch) || batch < 1 || batch > LIMITS.maximumBatch)
    throw new UndertoneError(
      'invalid-option',
      `upload.batch is ${batch}: it must be an integer from 1 to ${LIMITS.maximumBatch}`,
    );
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new UndertoneError(
      'invalid-option',
      `upload.concurrency is ${concurrency}: it must be an integer from 1 on`,
    );
  return { batch, concurrency };
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
