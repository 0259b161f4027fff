import { ArtifactId, SignerKey } from '@undertone/protocol';
import { type MechanismSummary } from '@undertone/store';
import { z } from 'zod';

const Plain = z.record(z.string(), z.unknown());

const ClaimDocument = z.object({
  kind: z.literal('pure-ldp'),
  epsilon: z.number().describe('Of a whole report.'),
  delta: z.literal(0),
  parts: z.array(z.object({ of: z.enum(['representation', 'label', 'pair']), epsilon: z.number() })),
  neighbouring: z.literal('any-two-records'),
  composition: z.enum(['none', 'basic']),
  assumptions: z.array(z.string()),
  d1: z
    .discriminatedUnion('kind', [
      z.object({ kind: z.literal('public') }),
      z.object({ kind: z.literal('central-dp'), epsilon: z.number(), delta: z.number() }),
    ])
    .describe('What was spent on the auxiliary set D1.'),
});

/** A published mechanism in short. */
export const MechanismSummaryDocument = z.object({
  id: ArtifactId.describe('Of its artifact.'),
  name: z.string(),
  signer: SignerKey,
  claim: ClaimDocument.describe('What a report promises, and what D1 was promised.'),
  lineage: z
    .record(z.string(), z.unknown())
    .describe('Where it comes from: method, D1, settings, seed, engine.'),
  metrics: Plain,
  job: z.string().nullable(),
  createdAt: z.iso.datetime(),
});
export type MechanismSummaryDocument = z.infer<typeof MechanismSummaryDocument>;

/** A published mechanism with what its artifact says besides weights. */
export const MechanismDocument = MechanismSummaryDocument.extend({
  labels: z.array(z.string()),
  schema: Plain.describe('What a raw record looks like.'),
  encoder: Plain,
  randomiser: Plain,
});
export type MechanismDocument = z.infer<typeof MechanismDocument>;

export function summaryDocument(found: MechanismSummary): MechanismSummaryDocument {
  const { id, name, signer, claim, lineage, metrics, jobId, createdAt } = found;
  return {
    id,
    name,
    signer,
    claim: claim as z.infer<typeof ClaimDocument>,
    lineage: lineage as Record<string, unknown>,
    metrics: metrics as Record<string, unknown>,
    job: jobId,
    createdAt: createdAt.toISOString(),
  };
}
