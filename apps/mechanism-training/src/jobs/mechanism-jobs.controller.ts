import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { JobDocument, jobDocument, JobRunner } from '@undertone/jobs';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { MechanismRequest } from '../mechanisms/mechanism-request';
import { FIT_MECHANISM } from './fit-mechanism';
import { withJobProblems } from './job-problem';

class MechanismRequestDto extends createZodDto(MechanismRequest) {}
class MechanismJobDto extends createZodDto(JobDocument) {}
class MechanismJobListDto extends createZodDto(z.object({ jobs: z.array(JobDocument) })) {}

const LISTED = 100;

@ApiTags('mechanisms')
@Controller('v1/mechanisms/jobs')
export class MechanismJobsController {
  constructor(private readonly runner: JobRunner) {}

  @Post()
  @HttpCode(202)
  @ApiOperation({ summary: 'Ask for a mechanism to be learned, signed and published' })
  @ApiAcceptedResponse({ type: MechanismJobDto })
  async create(@Body() request: MechanismRequestDto): Promise<JobDocument> {
    return jobDocument(await this.runner.enqueue(FIT_MECHANISM, request));
  }

  @Get()
  @ApiOperation({ summary: 'The latest jobs, newest first' })
  @ApiOkResponse({ type: MechanismJobListDto })
  async list(): Promise<{ jobs: JobDocument[] }> {
    return { jobs: (await this.runner.list({ limit: LISTED })).map(jobDocument) };
  }

  @Get(':id')
  @ApiOperation({ summary: 'How far a job is, and what came of it' })
  @ApiOkResponse({ type: MechanismJobDto })
  async show(@Param('id') id: string): Promise<JobDocument> {
    return jobDocument(await withJobProblems(this.runner.get(id)));
  }

  @Post(':id/cancel')
  @HttpCode(202)
  @ApiOperation({ summary: 'Cancel a queued job, or have a running one save its state and stop' })
  @ApiAcceptedResponse({ type: MechanismJobDto })
  async cancel(@Param('id') id: string): Promise<JobDocument> {
    return jobDocument(await withJobProblems(this.runner.cancel(id)));
  }
}
