import { Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { JobDocument, jobDocument, type JobRunner } from '@undertone/jobs';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { withJobProblems } from './job-problem';

/** A job, in the API's description. */
export class JobDto extends createZodDto(JobDocument) {}
class JobListDto extends createZodDto(z.object({ jobs: z.array(JobDocument) })) {}

const LISTED = 100;

/** The routes that jobs of every kind have; a service's own controller extends it and adds how one is asked for. */
export abstract class JobsController {
  protected constructor(protected readonly runner: JobRunner) {}

  @Get()
  @ApiOperation({ summary: 'The latest jobs, newest first' })
  @ApiOkResponse({ type: JobListDto })
  async list(): Promise<{ jobs: JobDocument[] }> {
    return { jobs: (await this.runner.list({ limit: LISTED })).map(jobDocument) };
  }

  @Get(':id')
  @ApiOperation({ summary: 'How far a job is, and what came of it' })
  @ApiOkResponse({ type: JobDto })
  async show(@Param('id') id: string): Promise<JobDocument> {
    return jobDocument(await withJobProblems(this.runner.get(id)));
  }

  @Post(':id/cancel')
  @HttpCode(202)
  @ApiOperation({ summary: 'Cancel a queued job, or have a running one save its state and stop' })
  @ApiAcceptedResponse({ type: JobDto })
  async cancel(@Param('id') id: string): Promise<JobDocument> {
    return jobDocument(await withJobProblems(this.runner.cancel(id)));
  }
}
