import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { createZodDto } from 'nestjs-zod';
import { z } from 'zod';
import { ClassifierDocument } from './classifier-document';
import { FittedClassifiers } from './fitted-classifiers';
import { type Prediction } from './predict';
import { PredictionRequest } from './prediction-request';

class ClassifierDto extends createZodDto(ClassifierDocument) {}
class ClassifierListDto extends createZodDto(z.object({ classifiers: z.array(ClassifierDocument) })) {}
class PredictionRequestDto extends createZodDto(PredictionRequest) {}
class PredictionsDto extends createZodDto(
  z.object({
    labels: z.array(z.string()).describe('Which label each probability belongs to.'),
    predictions: z.array(z.object({ label: z.string(), probabilities: z.array(z.number()) })),
  }),
) {}

@ApiTags('classifiers')
@Controller('v1/classifiers')
export class ClassifiersController {
  constructor(private readonly classifiers: FittedClassifiers) {}

  @Get()
  @ApiOperation({ summary: 'The fitted classifiers, newest first' })
  @ApiOkResponse({ type: ClassifierListDto })
  async list(): Promise<{ classifiers: ClassifierDocument[] }> {
    return { classifiers: await this.classifiers.list() };
  }

  @Get(':id')
  @ApiOperation({ summary: 'One classifier with its lineage, by its id or name' })
  @ApiOkResponse({ type: ClassifierDto })
  show(@Param('id') id: string): Promise<ClassifierDocument> {
    return this.classifiers.show(id);
  }

  @Post(':id/predict')
  @HttpCode(200)
  @ApiOperation({ summary: 'Class probabilities of clean records, or of privatised ones' })
  @ApiOkResponse({ type: PredictionsDto })
  predict(
    @Param('id') id: string,
    @Body() request: PredictionRequestDto,
  ): Promise<{ labels: string[]; predictions: Prediction[] }> {
    return this.classifiers.predict(id, request);
  }
}
