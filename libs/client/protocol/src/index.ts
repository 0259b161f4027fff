export { LIMITS, REPORT_ID_BYTES, REPORT_SCHEMA } from './limits';
export { MEDIA_TYPES, PROBLEM_MEDIA_TYPE, reportMediaType, type ReportMediaType } from './media-type';
export {
  PROBLEM_TYPES,
  ProblemDocument,
  problemDocument,
  problemKind,
  type ProblemKind,
  type ProblemType,
} from './problem';
export { ProtocolError, type ProtocolErrorCode } from './protocol-error';
export { BatchReceipt, CountsDocument, Rejection, RejectionReason } from './receipt';
export { RejectedEntry, REJECTION_SCHEMA } from './rejected-entry';
export { ArtifactId, Report, ReportJson, SignerKey, TaskName } from './report';
export {
  decodeBatch,
  decodeReport,
  decodeReports,
  encodeReport,
  encodeReports,
  joinReports,
  reportOutcomes,
  type ReportOutcome,
} from './report-body';
export { TaskDocument, TaskStatus, taskStatusAt } from './task';
