import { type Artifact } from '@undertone/artifact';
import { type Dataset } from '@undertone/datasets';
import { encodeReport, MEDIA_TYPES, type Report } from '@undertone/protocol';
import { MemoryOutbox, Undertone } from '@undertone/sdk';

import { type Terminal } from '../output/terminal';

export interface FleetOptions {
  url: string;
  task: string;
  trustedKeys: string[];
  /** Row i is the record of device i. */
  data: Dataset;
  /** The largest ε that a device takes part for. */
  maximumEpsilon: number;
  /** Requests in flight at a time. */
  concurrency?: number;
  /** How many devices send their bytes once more, as after a lost answer. */
  resend: number;
  /** How many devices' reports are kept to be shown. */
  remember: number;
  /** Told how many devices have had their answer. */
  onReport?: (done: number) => void;
  terminal: Terminal;
  signal: AbortSignal;
}

export interface RememberedDevice {
  row: number;
  report: Report;
}

export interface FleetOutcome {
  devices: number;
  accepted: number;
  rejected: number;
  resent: number;
  seconds: number;
  artifact: Artifact;
  data: Dataset;
  remembered: RememberedDevice[];
}

const CONCURRENCY = 48;

/**
 * Plays `data.rows` devices: each privatises its one record with the SDK and sends its one report in a request of its own.
 *
 * @throws {Error} of the SDK where the task, the artifact or a record is refused; the signal's reason when aborted.
 */
export async function simulateDevices(options: FleetOptions): Promise<FleetOutcome> {
  const { url, task, trustedKeys, data, maximumEpsilon, terminal, signal } = options;
  const start = performance.now();
  const sdk = await Undertone.connect({
    url,
    task,
    trustedKeys,
    maximumEpsilon,
    outbox: new MemoryOutbox(),
    signal,
  });
  const progress = terminal.progress('devices report', data.rows);
  const remembered: RememberedDevice[] = [];
  const tally = { accepted: 0, rejected: 0, resent: 0 };

  const device = async (row: number): Promise<void> => {
    const recordKey = `device-${data.sourceRow(row)}`;
    const outcome = await sdk.submit(data.raw(row), data.labels[data.label(row)], { recordKey });
    if (row < options.remember) remembered.push({ row, report: outcome.report });
    // A report that found no gateway waits in the outbox for the round below.
    if (outcome.state === 'waiting') return;
    tally[outcome.state === 'rejected' ? 'rejected' : 'accepted'] += 1;
    progress.update(tally.accepted + tally.rejected);
    options.onReport?.(tally.accepted + tally.rejected);
  };
  const again = async (row: number): Promise<void> => {
    const recordKey = `device-${data.sourceRow(row)}`;
    const report = await sdk.privatise(data.raw(row), data.labels[data.label(row)], { recordKey });
    const response = await fetch(new URL(`/v1/tasks/${task}/reports`, url), {
      method: 'POST',
      headers: { 'content-type': MEDIA_TYPES.cbor },
      body: encodeReport(report),
      signal,
    });
    if (response.status !== 202)
      throw new Error(
        `a repeated report was answered with HTTP ${response.status}: ${await response.text()}`,
      );
    tally.resent += 1;
  };

  try {
    await forEachConcurrently(data.rows, options.concurrency ?? CONCURRENCY, device, signal);
    await sendWaiting(sdk, tally, signal);
    await forEachConcurrently(
      Math.min(options.resend, data.rows),
      options.concurrency ?? CONCURRENCY,
      again,
      signal,
    );
  } finally {
    progress.stop();
  }
  return {
    devices: data.rows,
    ...tally,
    seconds: (performance.now() - start) / 1000,
    artifact: sdk.artifact,
    data,
    remembered: remembered.sort((a, b) => a.row - b.row),
  };
}

const LAST_ROUNDS = 5;

/** Sends what still waits in the outbox. @throws {UndertoneError} the last failure, when the gateway stays away. */
async function sendWaiting(
  sdk: Undertone,
  tally: { accepted: number; rejected: number },
  signal: AbortSignal,
): Promise<void> {
  for (let round = 1; ; round++) {
    const { acknowledged, rejected, waiting, failure } = await sdk.flush({ signal });
    tally.accepted += acknowledged;
    tally.rejected += rejected;
    if (waiting === 0) return;
    if (round === LAST_ROUNDS) throw failure ?? new Error(`${waiting} reports found no answer`);
  }
}

/** Calls work(0) … work(count − 1), `width` at a time; the first failure or an abort ends it. */
async function forEachConcurrently(
  count: number,
  width: number,
  work: (i: number) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) {
      signal.throwIfAborted();
      await work(next++);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, lane));
}
