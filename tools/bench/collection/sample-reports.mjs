import { webcrypto } from 'node:crypto';

import { load } from './packages.mjs';

const { createRandomiser, WebCryptoRandom } = load('client', 'ldp');
const { encodeReport, REPORT_SCHEMA } = load('client', 'protocol');

/** What the sample mechanism randomises with: payloads of 33 bytes. */
export const RANDOMISER = {
  kind: 'factorised',
  representation: { kind: 'laplace-l1', dimension: 8, radius: 1, epsilon: 6 },
  label: { kind: 'k-rr', classes: 10, epsilon: 2 },
};

/** Bytes of one payload: eight numbers and a label. */
export const PAYLOAD_BYTES = 33;

const random = new WebCryptoRandom();
const randomiser = createRandomiser(RANDOMISER);
const z = new Float64Array(randomiser.dimension).fill(RANDOMISER.representation.radius / 16);

/** Reports of records of chance: what they hold is all the same to the gateway, but each must be possible and new. */
export function sampleReports({ task, artifact, count }) {
  return Array.from({ length: count }, (_, i) => ({
    task,
    artifact,
    id: webcrypto.getRandomValues(new Uint8Array(16)),
    payload: randomiser.randomise(z, i % randomiser.classes, random),
  }));
}

/** A report as the topic carries it. */
export const messageOf = (report) => ({
  key: Buffer.from(report.id),
  value: Buffer.from(encodeReport(report)),
  headers: { schema: REPORT_SCHEMA },
});
