export type { RetryPolicy } from './gateway/retry-policy';
export { MemoryOutbox } from './outbox/memory-outbox';
export type { Outbox, OutboxEntry, OutboxRejection } from './outbox/outbox';
export {
  Undertone,
  type ConnectOptions,
  type FlushResult,
  type RecordOptions,
  type SubmitResult,
} from './undertone';
export { UndertoneError, type UndertoneErrorCode } from './undertone-error';
export type { UploadOptions, UploadSettings } from './upload/uploader';
