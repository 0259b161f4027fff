import { isNativeError } from 'node:util/types';
import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { type Logger } from '@undertone/observability';
import { PROBLEM_MEDIA_TYPE, type ProblemDocument, problemDocument } from '@undertone/protocol';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { CORRELATION_HEADER } from '../http/correlation-id';
import { knownProblem } from './known-problems';
import { Problem, type ProblemMapping } from './problem';
import { ProblemLog } from './problem-log';

/**
 * Answers every error with an RFC 9457 document. What nobody foresaw is logged with its correlation id and answered as `internal`,
 * with nothing of what happened inside.
 */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  private readonly log: ProblemLog;

  constructor(
    logger: Logger,
    private readonly mappings: readonly ProblemMapping[],
    private readonly limits: { bodyBytes: number },
  ) {
    this.log = new ProblemLog(logger);
  }

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  /** For what fails outside Nest's handlers; the error may be anything, as anything can be thrown. */
  answer(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    if (isCutOff(request, error)) return;
    const problem = this.problemOf(error);
    if (reply.sent || problem.getStatus() >= 500) {
      const what = reply.sent ? 'failed after its answer had begun' : `answered ${problem.kind}`;
      this.log.write({ problem, correlationId: request.id, what });
    }
    sendProblem(problem, request, reply);
  }

  private problemOf(error: unknown): Problem {
    for (const mapping of [...this.mappings, (e: unknown) => knownProblem(e, this.limits)]) {
      const problem = mapping(error);
      if (problem !== undefined) return problem;
    }
    return new Problem(
      'internal',
      'something went wrong inside the service; its log tells more under the correlation id',
      { cause: error },
    );
  }
}

/** Whether a request failed because its connection is gone: nobody is left to answer, and its own line says `aborted`. */
const isCutOff = ({ raw }: FastifyRequest, error: unknown): boolean =>
  isNativeError(error) && error === raw.errored;

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
