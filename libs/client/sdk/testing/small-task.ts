import { type ArtifactBody, generateSigningKey, mechanismClaim, sealArtifact } from '@undertone/artifact';
import { createRandomiser } from '@undertone/ldp';
import { DeterministicRandom } from '@undertone/ldp/testing';
import type { TaskDocument } from '@undertone/protocol';

const SIGNING_KEY = generateSigningKey(new DeterministicRandom(1));

/** A task over images of two pixels with three labels, at ε = 1 + 1, and its signed artifact. */
export function smallTask(over: Partial<TaskDocument> = {}): {
  task: TaskDocument;
  file: Uint8Array;
  trustedKeys: string[];
} {
  const spec = {
    kind: 'factorised',
    representation: { kind: 'laplace-l1', dimension: 2, radius: 1, epsilon: 1 },
    label: { kind: 'k-rr', classes: 3, epsilon: 1 },
  } as const;
  const body: ArtifactBody = {
    name: 'small',
    schema: { kind: 'image', height: 1, width: 2, channels: 1, maximum: 255 },
    labels: ['red', 'green', 'blue'],
    encoder: {
      layers: [{ inputs: 2, outputs: 2, activation: 'linear' }],
      projection: { kind: 'l1-ball', radius: 1 },
    },
    randomiser: spec,
    claim: mechanismClaim(createRandomiser(spec), { kind: 'public' }),
    lineage: {},
  };
  const { id, file } = sealArtifact(body, [Float32Array.of(1, 0, 0, -1), Float32Array.of(0, 0)], SIGNING_KEY);
  const task: TaskDocument = {
    name: 'colours',
    artifact: id,
    signer: SIGNING_KEY.publicKey,
    labels: [...body.labels],
    epsilon: body.claim.epsilon,
    opensAt: '2026-01-01T00:00:00.000Z',
    closesAt: null,
    minimumBatch: 1,
    perPersonCap: 1,
    status: 'open',
    ...over,
  };
  return { task, file, trustedKeys: [SIGNING_KEY.publicKey] };
}
