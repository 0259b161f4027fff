import { z } from 'zod';

const MOST_INPUTS = 1_000;

const Value = z.union([z.string(), z.number(), z.null()]);

/** Clean records, or payloads that a device privatised: one or the other. */
export const PredictionRequest = z
  .strictObject({
    records: z
      .array(z.union([z.array(z.number()), z.record(z.string(), Value)]))
      .min(1)
      .max(MOST_INPUTS)
      .optional()
      .describe('Raw records: pixels of an image, or the values of a row by column name.'),
    payloads: z
      .array(z.base64())
      .min(1)
      .max(MOST_INPUTS)
      .optional()
      .describe("Unlabelled records privatised by the artifact's randomiser, in base64."),
  })
  .refine(({ records, payloads }) => (records === undefined) !== (payloads === undefined), {
    error: 'give either records or payloads',
  });
export type PredictionRequest = z.infer<typeof PredictionRequest>;
