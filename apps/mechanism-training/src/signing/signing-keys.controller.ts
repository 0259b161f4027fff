import { Controller, Get, Inject } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type SigningKey } from '@undertone/artifact';
import { SignerKey } from '@undertone/protocol';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';

export const SIGNING_KEY = Symbol('the key that signs artifacts');

class SigningKeysDto extends createZodDto(z.object({ keys: z.array(SignerKey) })) {}

@ApiTags('mechanisms')
@Controller('v1/signing-keys')
export class SigningKeysController {
  constructor(@Inject(SIGNING_KEY) private readonly key: SigningKey) {}

  @Get()
  @ApiOperation({
    summary: 'Public keys that sign artifacts (Ed25519, hex)',
    description:
      'To be built into apps: a device that asked here whom to trust would trust whoever answers in our place.',
  })
  @ApiOkResponse({ type: SigningKeysDto })
  list(): { keys: string[] } {
    return { keys: [this.key.publicKey] };
  }
}
