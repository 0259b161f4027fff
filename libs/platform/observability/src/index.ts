export { HealthModule, readinessFailure } from './health/health.module';
export { Readiness } from './health/readiness';
export { createLogger, type LogSettings } from './logging/logger';
export { loggingModule } from './logging/logging-module';
export { describeError, withoutPrivateData } from './logging/private-data';
export { Metrics } from './metrics/metrics';
export { MetricsModule } from './metrics/metrics.module';
export { InjectPinoLogger, Logger as NestPinoLogger, PinoLogger } from 'nestjs-pino';
export type { Logger } from 'pino';
