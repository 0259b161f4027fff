import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { MechanismDocument, MechanismSummaryDocument } from './mechanism-document';
import { PublishedMechanisms } from './published-mechanisms';

const MOST_REPRESENTATIONS = 256;

class MechanismDto extends createZodDto(MechanismDocument) {}
class MechanismListDto extends createZodDto(z.object({ mechanisms: z.array(MechanismSummaryDocument) })) {}
class ReconstructionRequestDto extends createZodDto(
  z.strictObject({
    representations: z
      .array(z.array(z.number()))
      .min(1)
      .max(MOST_REPRESENTATIONS)
      .describe('Codes, clean or privatised.'),
  }),
) {}
class ReconstructionsDto extends createZodDto(z.object({ records: z.array(z.array(z.number())) })) {}

@ApiTags('mechanisms')
@Controller('v1/mechanisms')
export class MechanismsController {
  constructor(private readonly mechanisms: PublishedMechanisms) {}

  @Get()
  @ApiOperation({ summary: 'The published mechanisms, newest first' })
  @ApiOkResponse({ type: MechanismListDto })
  async list(): Promise<{ mechanisms: MechanismSummaryDocument[] }> {
    return { mechanisms: await this.mechanisms.list() };
  }

  @Get(':id')
  @ApiOperation({ summary: 'One mechanism, by its id or name' })
  @ApiOkResponse({ type: MechanismDto })
  show(@Param('id') id: string): Promise<MechanismDocument> {
    return this.mechanisms.show(id);
  }

  @Post(':id/reconstructions')
  @HttpCode(200)
  @ApiOperation({
    summary: 'What the model believes records look like that have these representations',
    description:
      'Shows what a report still says of its record. For the operator: the decoder is not published.',
  })
  @ApiOkResponse({ type: ReconstructionsDto })
  async reconstruct(
    @Param('id') id: string,
    @Body() { representations }: ReconstructionRequestDto,
  ): Promise<{ records: number[][] }> {
    return { records: await this.mechanisms.reconstruct(id, representations) };
  }
}
