export { GroupCommit, type GroupCommitSettings } from './group-commit';
export { MemoryReportLog, type MemoryReportLogSettings } from './memory/memory-report-log';
export { byteaArray } from './postgres/bytea-array';
export { PostgresReportLog, type PostgresReportLogSettings } from './postgres/postgres-report-log';
export {
  type ConsumerFailure,
  type FailureListener,
  type LogBatch,
  type LogConsumer,
  type LogEntry,
  type LogPositions,
  type LogRecord,
  type ReportLog,
  ReportLogError,
  type ReportLogErrorCode,
  type Subscription,
} from './report-log';
