import { load } from './packages.mjs';
import { RANDOMISER } from './sample-reports.mjs';

/** Publishes a mechanism around the sample randomiser. Answers its artifact's id. */
export async function publishSample(store) {
  const { generateSigningKey, mechanismClaim, sealArtifact } = load('client', 'artifact');
  const { createRandomiser, WebCryptoRandom } = load('client', 'ldp');
  const key = generateSigningKey(new WebCryptoRandom());
  const { dimension, radius } = RANDOMISER.representation;
  const body = {
    name: 'bench',
    schema: { kind: 'image', height: 28, width: 28, channels: 1, maximum: 255 },
    labels: Array.from({ length: RANDOMISER.label.classes }, (_, i) => `${i}`),
    encoder: {
      layers: [{ inputs: 784, outputs: dimension, activation: 'linear' }],
      projection: { kind: 'l1-ball', radius },
    },
    randomiser: RANDOMISER,
    claim: mechanismClaim(createRandomiser(RANDOMISER), { kind: 'public' }),
    lineage: {},
  };
  const weights = [new Float32Array(784 * dimension), new Float32Array(dimension)];
  const { id, file } = sealArtifact(body, weights, key);
  const { name, claim } = body;
  await store.mechanisms.publish({ id, name, signer: key.publicKey, file, claim, lineage: {}, metrics: {} });
  return id;
}

/** Makes an open task. It needs no gateway: an ingest alone has no route for tasks. */
export async function openTask(store, name, artifact, { closesAt } = {}) {
  await store.tasks.create({
    name,
    artifact,
    labels: Array.from({ length: RANDOMISER.label.classes }, (_, i) => `${i}`),
    opensAt: new Date(),
    closesAt,
    minimumBatch: 1,
    perPersonCap: 1,
  });
}
