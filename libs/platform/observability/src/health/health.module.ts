import { Controller, Get, Global, HttpCode, Module, ServiceUnavailableException } from '@nestjs/common';
import {
  HealthCheck,
  type HealthCheckResult,
  HealthCheckService,
  type HealthIndicatorResult,
  HealthIndicatorService,
  TerminusModule,
} from '@nestjs/terminus';
import { Liveness } from './liveness';
import { Readiness, type ReadinessCheck } from './readiness';

const CHECK_MS = 5_000;

@Controller('health')
class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly readiness: Readiness,
    private readonly liveness: Liveness,
  ) {}

  /** The process runs and can go on: 200, or 503 where only a new one helps. Nothing that it depends on is asked. */
  @Get('live')
  @HttpCode(200)
  live(): { status: 'ok' } {
    const { failure } = this.liveness;
    if (failure !== undefined) throw new ServiceUnavailableException(failure.message);
    return { status: 'ok' };
  }

  /** The service can do its work: 200, or 503 with what is missing. */
  @Get('ready')
  @HealthCheck()
  ready(): Promise<HealthCheckResult> {
    return this.health.check(
      this.readiness.all().map(
        ([name, check]) =>
          () =>
            this.run(name, check),
      ),
    );
  }

  private async run(name: string, check: ReadinessCheck): Promise<HealthIndicatorResult> {
    const indicator = this.indicators.check(name);
    try {
      const details = await withinTime(check());
      return details ? indicator.up(details) : indicator.up();
    } catch (error) {
      return indicator.down(error instanceof Error ? error.message : String(error));
    }
  }
}

/** The details of a failed readiness check, or undefined for any other exception. */
export function readinessFailure(exception: unknown): Record<string, { message?: string }> | undefined {
  if (!(exception instanceof ServiceUnavailableException)) return undefined;
  const response = exception.getResponse();
  return typeof response === 'object' && 'error' in response && typeof response.error === 'object'
    ? (response.error as Record<string, { message?: string }>)
    : undefined;
}

async function withinTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${CHECK_MS} ms`)), CHECK_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

@Global()
@Module({
  imports: [TerminusModule.forRoot({ logger: false, errorLogStyle: 'json' })],
  controllers: [HealthController],
  providers: [Readiness, Liveness],
  exports: [Readiness, Liveness],
})
export class HealthModule {}
