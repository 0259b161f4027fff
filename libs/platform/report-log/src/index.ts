export { GroupCommit, type GroupCommitSettings } from './group-commit';
export { connectKafka, type KafkaConnection, type KafkaSasl } from './kafka/kafka-connection';
export { KafkaError, type KafkaErrorCode } from './kafka/kafka-error';
export { KafkaReportLog, type KafkaReportLogSettings } from './kafka/kafka-report-log';
export { partitionOfKey } from './kafka/partition-of-key';
export { EntriesGoneError, LogReplacedError } from './kafka/partition-feed';
export { TopicWriter, type TopicWriterLimits, type TopicWriterSettings } from './kafka/topic-writer';
export {
  applyTopics,
  previewTopics,
  REJECTED_TOPIC,
  REPORTS_TOPIC,
  type TopicChange,
  type TopicPlan,
  topicPlans,
  type TopicRefusal,
  type TopicsAdmin,
  TopicsRefusedError,
} from './kafka/topics';
export { withTopicsAdmin } from './kafka/topics-admin';
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
