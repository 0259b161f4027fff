export { EmbeddedDatabase, type EmbeddedDatabaseSettings } from './embedded/embedded-database';
export { Prisma, type PrismaClient } from './generated/client';
export { applyMigrations, type MigrationOutcome } from './migrations/apply-migrations';
export { MIGRATIONS_FOLDER } from './migrations/migration-folder';
export { outliveConnections } from './outlive-connections';
export {
  type ClassifierRepository,
  type ClassifierSummary,
  type NewClassifier,
} from './repositories/classifier-repository';
export { type Json, toJson } from './repositories/json';
export {
  type MechanismPart,
  type MechanismRepository,
  type MechanismSummary,
  type NewMechanism,
} from './repositories/mechanism-repository';
export { type OutcomeRepository } from './repositories/outcome-repository';
export { type DroppedReports, type ReportPartitions } from './repositories/report-partitions';
export { type ReportRecord, type ReportRepository, reportsDeleted } from './repositories/report-repository';
export { type NewTask, type TaskRecord, type TaskRepository } from './repositories/task-repository';
export { inTransaction, type Sql } from './sql';
export { connectStore, type PoolSettings, type Store } from './store';
export { StoreError, type StoreErrorCode } from './store-error';
