import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { JobDto, JobsController } from '@undertone/job-service';
import { type JobDocument, jobDocument, JobRunner } from '@undertone/jobs';
import { createZodDto } from 'nestjs-zod';
import { ClassifierRequest } from '../classifiers/classifier-request';
import { CollectedReports } from './collected-reports';
import { FIT_CLASSIFIER } from './fit-classifier';

class ClassifierRequestDto extends createZodDto(ClassifierRequest) {}

@ApiTags('classifiers')
@Controller('v1/classifiers/jobs')
export class ClassifierJobsController extends JobsController {
  constructor(
    runner: JobRunner,
    private readonly reports: CollectedReports,
  ) {
    super(runner);
  }

  @Post()
  @HttpCode(202)
  @ApiOperation({ summary: "Ask for a classifier to be fitted on a task's reports" })
  @ApiAcceptedResponse({ type: JobDto })
  async create(@Body() request: ClassifierRequestDto): Promise<JobDocument> {
    await this.reports.requireEnough(request.task);
    return jobDocument(await this.runner.enqueue(FIT_CLASSIFIER, request));
  }
}
