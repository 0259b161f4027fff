import { Controller, Get, Header, Headers, Param, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ArtifactId } from '@undertone/protocol';
import { Problem } from '@undertone/service';
import { type FastifyReply } from 'fastify';

import { etagMatches } from '../caching/entity-tag';
import { ArtifactShelf } from './artifact-shelf';

@ApiTags('artifacts')
@Controller('v1/artifacts')
export class ArtifactsController {
  constructor(private readonly shelf: ArtifactShelf) {}

  @Get(':id')
  @Header('Cache-Control', 'public, max-age=31536000, immutable')
  @Header('Content-Type', 'application/octet-stream')
  @ApiOperation({ summary: 'The signed artifact, byte for byte; it never changes' })
  @ApiOkResponse({
    content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
  })
  async read(
    @Param('id') id: string,
    @Headers('if-none-match') ifNoneMatch: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer | undefined> {
    const artifact = ArtifactId.safeParse(id).success ? await this.shelf.find(id) : undefined;
    if (artifact === undefined) {
      throw new Problem('unknown-artifact', `there is no artifact ${id}; its id is 64 lower-case hex digits`);
    }
    const tag = `"${id}"`;
    void reply.header('etag', tag);
    if (etagMatches(ifNoneMatch, tag)) {
      void reply.status(304);
      return undefined;
    }
    return artifact.file;
  }
}
