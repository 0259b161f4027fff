import { Body, Controller, Get, Header, Headers, HttpCode, Param, Post, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type TaskDocument } from '@undertone/protocol';
import { type FastifyReply } from 'fastify';

import { etagMatches, etagOf } from '../caching/entity-tag';
import { secondsUntilChange } from './collection-task';
import { TaskDocumentBody, TaskListBody, TaskRequestBody } from './task-request';
import { TasksService } from './tasks.service';

@ApiTags('tasks')
@Controller('v1/tasks')
export class TasksController {
  constructor(private readonly tasks: TasksService) {}

  @Post()
  @HttpCode(201)
  @ApiOperation({ summary: 'Make a task: one collection under one published artifact' })
  @ApiOkResponse({ type: TaskDocumentBody })
  create(@Body() request: TaskRequestBody): Promise<TaskDocument> {
    return this.tasks.create(request);
  }

  @Get()
  @Header('Cache-Control', 'no-cache')
  @ApiOperation({ summary: 'All tasks, newest first' })
  @ApiOkResponse({ type: TaskListBody })
  async list(): Promise<{ tasks: TaskDocument[] }> {
    return { tasks: await this.tasks.list() };
  }

  @Get(':task')
  @ApiOperation({ summary: 'The public description of a task, for devices and caches' })
  @ApiOkResponse({ type: TaskDocumentBody })
  async read(
    @Param('task') name: string,
    @Headers('if-none-match') ifNoneMatch: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<TaskDocument | undefined> {
    const task = await this.tasks.find(name);
    const document = this.tasks.document(task);
    const tag = etagOf(JSON.stringify(document));
    const maxAge = secondsUntilChange(task, Date.now());
    void reply.headers({ etag: tag, 'cache-control': `public, max-age=${maxAge}` });
    if (!etagMatches(ifNoneMatch, tag)) return document;
    void reply.status(304);
    return undefined;
  }

  @Post(':task/close')
  @HttpCode(200)
  @ApiOperation({ summary: 'Take no more reports' })
  @ApiOkResponse({ type: TaskDocumentBody })
  close(@Param('task') name: string): Promise<TaskDocument> {
    return this.tasks.close(name);
  }
}
