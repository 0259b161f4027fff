import { Global, Injectable, Module } from '@nestjs/common';
import { type CustomTransportStrategy } from '@nestjs/microservices';

/**
 * What feeds the event handlers of a service besides HTTP. Modules add theirs while the service starts; each listens before HTTP
 * does, and is closed after the last request is answered and before `onApplicationShutdown`.
 *
 * Neither the pipes nor the filters of the HTTP side reach such a handler: it checks what it gets, and its strategy sees its errors.
 */
@Injectable()
export class Transports {
  private readonly strategies: CustomTransportStrategy[] = [];

  add(strategy: CustomTransportStrategy): void {
    this.strategies.push(strategy);
  }

  all(): readonly CustomTransportStrategy[] {
    return this.strategies;
  }
}

@Global()
@Module({ providers: [Transports], exports: [Transports] })
export class TransportModule {}
