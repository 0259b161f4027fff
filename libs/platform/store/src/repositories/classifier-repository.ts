import { type Prisma, type PrismaClient } from '../generated/client';
import { type Sql } from '../sql';
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
  constructor(
    private readonly prisma: PrismaClient,
    private readonly pool: Sql,
  ) {}

  /**
   * One that is there already stays as it is: a job that ends twice writes once.
   * @param within a transaction that it shall be part of
   */
  async save(classifier: NewClassifier, within: Sql = this.pool): Promise<'saved' | 'present'> {
    const { id, name, task, artifact, objective, settings, metrics, lineage, file, jobId } = classifier;
    const { rowCount } = await within.query(
      `INSERT INTO classifiers (id, name, task, artifact, objective, settings, metrics, lineage, file, job_id)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO NOTHING`,
      [id, name, task, artifact, objective, toJson(settings), toJson(metrics), toJson(lineage), file, jobId],
    );
    return rowCount === 1 ? 'saved' : 'present';
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
