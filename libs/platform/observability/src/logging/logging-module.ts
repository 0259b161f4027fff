import { type DynamicModule, Global, Inject, Module } from '@nestjs/common';
import { createLogger, type LogSettings } from './logger';

const LOGGER = Symbol('logger');

/** Injects the service's `Logger`. Lines that a request causes carry its correlation id. */
export const InjectLogger = (): ParameterDecorator => Inject(LOGGER) as ParameterDecorator;

@Global()
@Module({})
export class LoggingModule {
  static readonly LOGGER = LOGGER;

  static register(settings: LogSettings): DynamicModule {
    const logger = { provide: LOGGER, useFactory: () => createLogger(settings) };
    return { module: LoggingModule, providers: [logger], exports: [logger] };
  }
}
