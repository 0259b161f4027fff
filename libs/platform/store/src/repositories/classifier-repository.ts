import { type Prisma, type PrismaClient } from '../generated/client';
import { type Json, toJson } from './json';

export interface ClassifierSummary {
  readonly id: string;
  readonly name: string;
  readonly task: string;
  readonly artifact: string;
  readonly objective: string;
  readonly settings: Json;
  readonly metrics: Json;
  readonly lineage: Json;
  readonly jobId: string | null;
  readonly createdAt: Date;
}

export interface NewClassifier {
  readonly id: string;
  readonly name: string;
  readonly task: string;
  readonly artifact: string;
  readonly objective: string;
  readonly settings: unknown;
  readonly metrics: unknown;
  readonly lineage: unknown;
  /** The serialised model. */
  readonly file: Uint8Array;
  readonly jobId?: string;
}

const SUMMARY = {
  id: true,
  name: true,
  task: true,
  artifact: true,
  objective: true,
  settings: true,
  metrics: true,
  lineage: true,
  jobId: true,
  createdAt: true,
} satisfies Prisma.ClassifierSelect;

/** Fitted models; written by classifier-training. */
export class ClassifierRepository {
  constructor(private readonly prisma: PrismaClient) {}

  /** One that is there already stays as it is: a job that ends twice writes once. */
  async save(classifier: NewClassifier): Promise<'saved' | 'present'> {
    const { count } = await this.prisma.classifier.createMany({
      data: [
        {
          ...classifier,
          file: Uint8Array.from(classifier.file),
          settings: toJson(classifier.settings),
          metrics: toJson(classifier.metrics),
          lineage: toJson(classifier.lineage),
        },
      ],
      skipDuplicates: true,
    });
    return count === 1 ? 'saved' : 'present';
  }

  /** @param reference an id, or a name: then the newest of that name */
  async find(reference: string): Promise<ClassifierSummary | undefined> {
    const found = await this.prisma.classifier.findFirst({
      where: { OR: [{ id: reference }, { name: reference }] },
      orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
      select: SUMMARY,
    });
    return found ?? undefined;
  }

  /** Newest first. */
  list({ limit = 100 }: { limit?: number } = {}): Promise<ClassifierSummary[]> {
    return this.prisma.classifier.findMany({
      orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
      select: SUMMARY,
      take: limit,
    });
  }

  async readFile(id: string): Promise<Uint8Array | undefined> {
    const found = await this.prisma.classifier.findUnique({ where: { id }, select: { file: true } });
    return found?.file;
  }
}
