import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { JobDto, JobsController } from '@undertone/job-service';
import { type JobDocument, jobDocument, JobRunner } from '@undertone/jobs';
import { createZodDto } from 'nestjs-zod';
import { MechanismRequest } from '../mechanisms/mechanism-request';
import { FIT_MECHANISM } from './fit-mechanism';

class MechanismRequestDto extends createZodDto(MechanismRequest) {}

@ApiTags('mechanisms')
@Controller('v1/mechanisms/jobs')
export class MechanismJobsController extends JobsController {
  constructor(runner: JobRunner) {
    super(runner);
  }

  @Post()
  @HttpCode(202)
  @ApiOperation({ summary: 'Ask for a mechanism to be learned, signed and published' })
  @ApiAcceptedResponse({ type: JobDto })
  async create(@Body() request: MechanismRequestDto): Promise<JobDocument> {
    return jobDocument(await this.runner.enqueue(FIT_MECHANISM, request));
  }
}
