import { type ArtifactBody, generateSigningKey, mechanismClaim, sealArtifact } from '@undertone/artifact';
import { WebCryptoRandom } from '@undertone/ldp';
import { type Store } from '@undertone/store';

import { sampleRandomiser, SAMPLE_SPEC } from './sample-task';

const signingKey = generateSigningKey(new WebCryptoRandom());

/** Publishes a small mechanism around the sample randomiser. */
export async function publishSample(
  store: Store,
  name = 'sample',
): Promise<{ id: string; file: Uint8Array; signer: string }> {
  const body: ArtifactBody = {
    name,
    schema: { kind: 'image', height: 1, width: 4, channels: 1, maximum: 255 },
    labels: ['rain', 'snow', 'sun'],
    encoder: {
      layers: [{ inputs: 4, outputs: 4, activation: 'linear' }],
      projection: { kind: 'l1-ball', radius: 1 },
    },
    randomiser: SAMPLE_SPEC,
    claim: mechanismClaim(sampleRandomiser, { kind: 'public' }),
    lineage: {},
  };
  const { id, file } = sealArtifact(body, [new Float32Array(16).fill(0.5), new Float32Array(4)], signingKey);
  await store.mechanisms.publish({
    id,
    name,
    signer: signingKey.publicKey,
    file,
    claim: body.claim,
    lineage: {},
    metrics: {},
  });
  return { id, file, signer: signingKey.publicKey };
}
