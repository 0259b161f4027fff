import { PrismaPg } from '@prisma/adapter-pg';
import { Pool } from 'pg';
import { PrismaClient } from './generated/client';
import { outliveConnections } from './outlive-connections';
import { ClassifierRepository } from './repositories/classifier-repository';
import { MechanismRepository } from './repositories/mechanism-repository';
import { OutcomeRepository } from './repositories/outcome-repository';
import { ReportPartitions } from './repositories/report-partitions';
import { ReportRepository } from './repositories/report-repository';
import { TaskRepository } from './repositories/task-repository';
import { reasonOf, StoreError } from './store-error';

export interface PoolSettings {
  /** Connections at most; 10 when left out. */
  readonly max?: number;
  /** How long a caller waits for a connection; 10 s when left out. */
  readonly connectionTimeoutMs?: number;
  /** How long a statement may run; 60 s when left out. */
  readonly statementTimeoutMs?: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string;
  /** Told of a connection that broke while idle; the pool replaces it. */
  readonly onConnectionLost?: (error: Error) => void;
}

/** One pool of connections and what is read and written through it: Prisma, the repositories, and plain SQL for hot paths. */
export interface Store {
  readonly prisma: PrismaClient;
  readonly pool: Pool;
  readonly mechanisms: MechanismRepository;
  readonly tasks: TaskRepository;
  readonly reports: ReportRepository;
  readonly reportPartitions: ReportPartitions;
  readonly outcomes: OutcomeRepository;
  readonly classifiers: ClassifierRepository;
  /** Resolves when the database answers. @throws StoreError 'database-unreachable' */
  check(): Promise<void>;
  /** Waits for queries in flight and closes every connection. */
  close(): Promise<void>;
}

/** Opens connections when first used. @param url `postgresql://user:password@host:port/database` */
export function connectStore(url: string, settings: PoolSettings = {}): Store {
  const statementTimeoutMs = settings.statementTimeoutMs ?? 60_000;
  const connectionTimeoutMs = settings.connectionTimeoutMs ?? 10_000;
  const pool = new Pool({
    connectionString: url,
    max: settings.max ?? 10,
    connectionTimeoutMillis: connectionTimeoutMs,
    idleTimeoutMillis: 30_000,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
    application_name: settings.applicationName ?? 'undertone',
    keepAlive: true,
  });
  outliveConnections(pool, settings.onConnectionLost);
  const prisma = new PrismaClient({
    adapter: new PrismaPg(pool),
    transactionOptions: { maxWait: connectionTimeoutMs, timeout: statementTimeoutMs },
  });
  let closing: Promise<void> | undefined;
  return {
    prisma,
    pool,
    mechanisms: new MechanismRepository(prisma, pool),
    tasks: new TaskRepository(prisma),
    reports: new ReportRepository(pool),
    reportPartitions: new ReportPartitions(pool),
    outcomes: new OutcomeRepository(pool),
    classifiers: new ClassifierRepository(prisma, pool),
    check: async () => {
      try {
        await pool.query('SELECT 1');
      } catch (error) {
        throw new StoreError('database-unreachable', `the database does not answer: ${reasonOf(error)}`, {
          cause: error,
        });
      }
    },
    close: () => (closing ??= prisma.$disconnect().then(() => pool.end())),
  };
}
