import { Controller, Get, Header, Param } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CountsDocument } from '@undertone/protocol';
import { createZodDto } from 'nestjs-zod';

import { CountsService } from './counts.service';

class CountsBody extends createZodDto(CountsDocument) {}

@ApiTags('tasks')
@Controller('v1/tasks')
export class CountsController {
  constructor(private readonly counts: CountsService) {}

  @Get(':task/counts')
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'What became of the reports so far' })
  @ApiOkResponse({ type: CountsBody })
  read(@Param('task') task: string): Promise<CountsDocument> {
    return this.counts.read(task);
  }
}
