import { type PipeTransform } from '@nestjs/common';
import { createZodValidationPipe } from 'nestjs-zod';
import { type z } from 'zod';
import { Problem } from './problem';

/** Checks bodies, queries and parameters whose class is a zod DTO. A bad one is answered with every field that is wrong. */
export const RequestValidationPipe: new () => PipeTransform = createZodValidationPipe({
  createValidationException: (error) => invalidRequest(error as z.ZodError),
});

/** @returns the problem `invalid-request` with one entry a field */
export function invalidRequest(error: z.ZodError): Problem {
  const errors = error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ field: fieldOf([...issue.path, key]), detail: 'is not a known field' }))
      : [{ field: fieldOf(issue.path), detail: issue.message }],
  );
  const listed = errors.map(({ field, detail }) => `${field}: ${detail}`).join('; ');
  return new Problem('invalid-request', `the request has ${count(errors.length)}: ${listed}`, { errors });
}

const count = (n: number): string => (n === 1 ? 'a field that is wrong' : `${n} fields that are wrong`);

/** `records[3].name`; the request as a whole is `(request)`. */
function fieldOf(path: readonly PropertyKey[]): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return text === '' ? '(request)' : text.replace(/^\./, '');
}
