import { Controller, Get, Global, Header, Module } from '@nestjs/common';
import { Metrics } from './metrics';

@Controller()
class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  @Get('metrics')
  @Header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8')
  @Header('Cache-Control', 'no-store')
  render(): Promise<string> {
    return this.metrics.render();
  }
}

@Global()
@Module({ controllers: [MetricsController], providers: [Metrics], exports: [Metrics] })
export class MetricsModule {}
