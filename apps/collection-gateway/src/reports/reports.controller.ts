import { Controller, Post } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiOperation, ApiParam, ApiResponse, ApiTags } from '@nestjs/swagger';
import {
  BatchReceipt,
  PROBLEM_MEDIA_TYPE,
  type ProblemDocument,
  problemDocument,
  ReportJson,
} from '@undertone/protocol';
import { DirectRoute } from '@undertone/service';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';

import { ReportsService } from './reports.service';

class BatchReceiptBody extends createZodDto(BatchReceipt) {}

const BODY = z.toJSONSchema(z.union([ReportJson, z.object({ reports: z.array(ReportJson) })]), {
  io: 'input',
  unrepresentable: 'any',
});

@ApiTags('reports')
@Controller('v1/tasks')
export class ReportsController {
  constructor(private readonly reports: ReportsService) {}

  /** Reads the body itself: no pipe and no parser comes between the bytes and the log. */
  @Post(':task/reports')
  @DirectRoute()
  @ApiOperation({ summary: 'Send one report, or a batch: 202 once the log has every accepted one durably' })
  @ApiParam({ name: 'task', type: String })
  @ApiConsumes('application/cbor', 'application/json')
  @ApiBody({ schema: BODY as object })
  @ApiResponse({ status: 202, type: BatchReceiptBody })
  @ApiResponse({
    status: 422,
    description: 'Every report was refused: a problem document that is a receipt too',
  })
  async receive(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { headers } = request;
    const { task } = request.params as { task: string };
    const receipt = await this.reports.receive(task, takeBody(request), {
      type: headers['content-type'],
      encoding: headers['content-encoding'],
    });
    if (receipt.accepted > 0) return reply.status(202).send(receipt);
    const document: BatchReceipt & ProblemDocument = { ...refusal(receipt, request), ...receipt };
    return reply
      .status(422)
      .header('content-type', `${PROBLEM_MEDIA_TYPE}; charset=utf-8`)
      .send(JSON.stringify(document));
  }
}

const NO_BYTES = new Uint8Array();

/** The request lives until it is answered; its body shall not. */
function takeBody(request: FastifyRequest): Uint8Array {
  const { body } = request;
  request.body = undefined;
  return body instanceof Uint8Array ? body : NO_BYTES;
}

const refusal = ({ rejected }: BatchReceipt, { url, id }: FastifyRequest): ProblemDocument =>
  problemDocument('reports-rejected', {
    detail:
      rejected.length === 1
        ? `the report was refused (${rejected[0].reason}): ${rejected[0].detail}`
        : `all ${rejected.length} reports were refused; the first (${rejected[0].reason}): ${rejected[0].detail}`,
    instance: url.split('?', 1)[0],
    correlationId: id,
  });
