import { HttpException } from '@nestjs/common';
import { PROBLEM_TYPES, type ProblemDocument, type ProblemKind } from '@undertone/protocol';

export interface ProblemOptions {
  readonly cause?: unknown;
  /** One entry a bad field. */
  readonly errors?: ProblemDocument['errors'];
  /** Headers of the answer, such as `retry-after`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer that says no: an RFC 9457 problem of a stable kind. The detail names value, rule and what to do. */
export class Problem extends HttpException {
  readonly errors: ProblemDocument['errors'];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    readonly kind: ProblemKind,
    readonly detail: string,
    { cause, errors, headers = {} }: ProblemOptions = {},
  ) {
    super({ ...PROBLEM_TYPES[kind], detail }, PROBLEM_TYPES[kind].status, { cause });
    this.message = detail;
    this.name = 'Problem';
    this.errors = errors;
    this.headers = headers;
  }
}

/** Turns an error of some library into the problem to answer with; undefined where it isn't one of its own. */
export type ProblemMapping = (error: unknown) => Problem | undefined;
