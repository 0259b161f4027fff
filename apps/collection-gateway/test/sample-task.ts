import { createRandomiser, type RandomiserSpec, WebCryptoRandom } from '@undertone/ldp';
import { type Report } from '@undertone/protocol';

import { type CollectionTask } from '../src/tasks/collection-task';

export const SAMPLE_SPEC: RandomiserSpec = {
  kind: 'factorised',
  representation: { kind: 'laplace-l1', dimension: 4, radius: 1, epsilon: 4 },
  label: { kind: 'k-rr', classes: 3, epsilon: 2 },
};

export const sampleRandomiser = createRandomiser(SAMPLE_SPEC);

const random = new WebCryptoRandom();

/** An open task over the sample randomiser; its artifact's id is 64 times `digit`. */
export function sampleTask(
  name = 'weather',
  { digit = 'a', ...rest }: Partial<CollectionTask> & { digit?: string } = {},
): CollectionTask {
  return {
    name,
    artifact: digit.repeat(64),
    signer: 'e'.repeat(64),
    labels: ['rain', 'snow', 'sun'],
    epsilon: sampleRandomiser.claim.epsilon,
    opensAt: new Date('2024-01-01T00:00:00Z'),
    closesAt: null,
    minimumBatch: 1,
    perPersonCap: 1,
    reportsDroppedAt: null,
    randomiser: sampleRandomiser,
    ...rest,
  };
}

/** A report that the task takes; ids repeat with `number`, payloads don't. */
export function sampleReport(task: CollectionTask, number: number, changes: Partial<Report> = {}): Report {
  const id = new Uint8Array(16);
  new DataView(id.buffer).setUint32(12, number);
  const payload = sampleRandomiser.randomise([0.25, -0.25, 0.25, 0.25], number % 3, random);
  return { id, task: task.name, artifact: task.artifact, payload, ...changes };
}

/** Of the right length, and out of no randomiser: a label above its classes. */
export function impossiblePayload(): Uint8Array {
  const payload = sampleReport(sampleTask(), 0).payload.slice();
  payload[payload.length - 1] = 250;
  return payload;
}
