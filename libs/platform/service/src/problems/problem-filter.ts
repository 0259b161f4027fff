import { isNativeError } from 'node:util/types';
import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { describeError, type Logger } from '@undertone/observability';
import { PROBLEM_MEDIA_TYPE, type ProblemDocument, problemDocument } from '@undertone/protocol';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { CORRELATION_HEADER } from '../http/correlation-id';
import { knownProblem } from './known-problems';
import { Problem, type ProblemMapping } from './problem';

/**
 * Answers every error with an RFC 9457 document. What nobody foresaw is logged with its correlation id and answered as `internal`,
 * with nothing of what happened inside.
 */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly logger: Logger,
    private readonly mappings: readonly ProblemMapping[],
    private readonly limits: { bodyBytes: number },
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    sendProblem(this.problemOf(error, request.id), request, reply);
  }

  private problemOf(error: unknown, correlationId: string): Problem {
    for (const mapping of [...this.mappings, (e: unknown) => knownProblem(e, this.limits)]) {
      const problem = mapping(error);
      if (problem !== undefined) return this.logged(problem, correlationId);
    }
    return this.logged(
      new Problem(
        'internal',
        'something went wrong inside the service; its log tells more under the correlation id',
        {
          cause: error,
        },
      ),
      correlationId,
    );
  }

  private logged(problem: Problem, correlationId: string): Problem {
    if (problem.getStatus() < 500) return problem;
    const { cause } = problem;
    const err = isNativeError(cause) ? cause : problem;
    const error = describeError(err);
    this.logger.error({ correlationId, error }, `answered ${problem.kind}: ${error.message}`);
    return problem;
  }
}

/** Answers with the problem's document, unless the answer has begun already. */
export function sendProblem(problem: Problem, request: FastifyRequest, reply: FastifyReply): void {
  const { kind, detail, errors, headers } = problem;
  const document: ProblemDocument = problemDocument(kind, {
    detail,
    instance: request.url.split('?', 1)[0],
    correlationId: request.id,
    ...(errors === undefined ? {} : { errors }),
  });
  if (reply.sent) return;
  void reply
    .status(problem.getStatus())
    .headers({
      ...headers,
      [CORRELATION_HEADER]: request.id,
      'content-type': `${PROBLEM_MEDIA_TYPE}; charset=utf-8`,
    })
    .send(JSON.stringify(document));
}
