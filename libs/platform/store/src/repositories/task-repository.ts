import { Prisma, type PrismaClient } from '../generated/client';
import { StoreError } from '../store-error';

export interface TaskRecord {
  /** A slug. */
  readonly name: string;
  readonly artifact: string;
  readonly labels: string[];
  readonly opensAt: Date;
  readonly closesAt: Date | null;
  readonly minimumBatch: number;
  readonly perPersonCap: number;
  readonly createdAt: Date;
  /** Since when its reports are being deleted, or are gone; null while they are kept. */
  readonly reportsDroppedAt: Date | null;
}

export type NewTask = Omit<TaskRecord, 'createdAt' | 'closesAt' | 'reportsDroppedAt'> & {
  readonly closesAt?: Date;
};

/** Collections; written by collection-gateway. */
export class TaskRepository {
  constructor(private readonly prisma: PrismaClient) {}

  /** @throws StoreError 'conflict' when the name is taken, 'not-found' when there is no such artifact */
  async create(task: NewTask): Promise<TaskRecord> {
    try {
      return await this.prisma.task.create({ data: task });
    } catch (error) {
      if (!(error instanceof Prisma.PrismaClientKnownRequestError)) throw error;
      if (error.code === 'P2002') {
        throw new StoreError(
          'conflict',
          `there is a task named "${task.name}" already; choose another name`,
          {
            cause: error,
          },
        );
      }
      if (error.code === 'P2003') {
        throw new StoreError(
          'not-found',
          `there is no published mechanism with the artifact id ${task.artifact}`,
          {
            cause: error,
          },
        );
      }
      throw error;
    }
  }

  async find(name: string): Promise<TaskRecord | undefined> {
    return (await this.prisma.task.findUnique({ where: { name } })) ?? undefined;
  }

  /** Newest first. */
  list({ limit = 1000 }: { limit?: number } = {}): Promise<TaskRecord[]> {
    return this.prisma.task.findMany({ orderBy: [{ createdAt: 'desc' }, { name: 'asc' }], take: limit });
  }

  /** Brings the end of the collection forward to `at`; an earlier end stays. @returns undefined when there is no such task */
  async close(name: string, at: Date): Promise<TaskRecord | undefined> {
    await this.prisma.task.updateMany({
      where: { name, OR: [{ closesAt: null }, { closesAt: { gt: at } }] },
      data: { closesAt: at },
    });
    return this.find(name);
  }
}
