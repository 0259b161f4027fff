import { type Prisma } from '../generated/client';

/** What a JSON column holds. */
export type Json = Prisma.JsonValue;

/** Plain data for a JSON column: drops what JSON can't say, as JSON.stringify does. */
export const toJson = (value: unknown): Prisma.InputJsonValue =>
  JSON.parse(JSON.stringify(value ?? {})) as Prisma.InputJsonValue;
