import { setTimeout as pause } from 'node:timers/promises';

import { load } from '../bench/collection/packages.mjs';
import { sampleReports } from '../bench/collection/sample-reports.mjs';

const { encodeReports } = load('client', 'protocol');

const ANSWER_WITHIN_MS = 30_000;

/**
 * Devices that send batches and, while they get no answer or a 503, the same bytes again, to the next gateway in turn,
 * until they are acknowledged.
 */
export class Fleet {
  /** Acknowledged reports. */
  acked = 0;
  /** Reports that a gateway refused for good. */
  rejected = 0;
  /** Answers by status; 'none' where the connection was lost. */
  answers = {};
  /** 503s that said when to come again. */
  retryAfter = 0;

  #queue;
  #shape;

  /**
   * @param {{ urls: string[], task: string, artifact: string, reports: number, batch: number, devices: number,
   *   longestPauseMs: number }} shape a device waits as long as a 503 asks it to, but not longer than this
   */
  constructor(shape) {
    this.#shape = shape;
    const { task, artifact, reports, batch } = shape;
    const all = sampleReports({ task, artifact, count: reports });
    /** Payload by id, both hex: what must be in the table. */
    this.sent = new Map(all.map(({ id, payload }) => [hex(id), hex(payload)]));
    this.#queue = [];
    for (let i = 0; i < all.length; i += batch) {
      const some = all.slice(i, i + batch);
      this.#queue.push({ count: some.length, body: encodeReports(some) });
    }
  }

  /** Resolves when everything is acknowledged or refused. */
  async send() {
    await Promise.all(Array.from({ length: this.#shape.devices }, (_, device) => this.#sendFrom(device)));
  }

  async #sendFrom(device) {
    for (let batch = this.#queue.shift(); batch !== undefined; batch = this.#queue.shift()) {
      for (let attempt = device; !(await this.#attempt(batch, attempt)); attempt++);
    }
  }

  async #attempt({ body, count }, attempt) {
    const { urls, task, longestPauseMs } = this.#shape;
    const answer = await post(`${urls[attempt % urls.length]}/v1/tasks/${task}/reports`, body);
    const status = answer?.status ?? 'none';
    this.answers[status] = (this.answers[status] ?? 0) + 1;
    if (status === 202) {
      const { accepted, rejected } = answer.receipt;
      if (accepted + rejected.length !== count) throw new Error(`a receipt of ${count} tells of ${accepted}`);
      this.acked += accepted;
      this.rejected += rejected.length;
      return true;
    }
    if (status !== 'none' && status < 500) {
      this.rejected += count;
      return true;
    }
    const { retryAfterSeconds } = answer ?? {};
    if (status === 503 && retryAfterSeconds > 0) this.retryAfter++;
    await pause(Math.min((retryAfterSeconds ?? 0.1) * 1000, longestPauseMs));
    return false;
  }
}

/** Undefined where the answer did not come, or came in part. */
async function post(url, body) {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/cbor' },
      body,
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    const text = await answer.text();
    const retryAfter = answer.headers.get('retry-after');
    return {
      status: answer.status,
      retryAfterSeconds: retryAfter === null ? undefined : Number(retryAfter),
      receipt: answer.status === 202 ? JSON.parse(text) : undefined,
    };
  } catch {
    return undefined;
  }
}

const hex = (bytes) => Buffer.from(bytes).toString('hex');
