import 'reflect-metadata';
import { type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { type DynamicModule, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type MicroserviceOptions } from '@nestjs/microservices';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { type ServiceConfig } from '@undertone/config';
import {
  HealthModule,
  Liveness,
  type Logger,
  LoggingModule,
  type LogSettings,
  Metrics,
  MetricsModule,
  NestLogger,
  Readiness,
  RequestLog,
} from '@undertone/observability';
import { LIMITS } from '@undertone/protocol';
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify';
import { cleanupOpenApiDoc } from 'nestjs-zod';
import { addBodyParsers } from './http/body-parsers';
import { correlationIdOf } from './http/correlation-id';
import { connectDirectRoutes } from './http/direct-route';
import { requestMetrics } from './http/http-metrics';
import { RequestLife } from './http/request-life';
import { BootLogger } from './lifecycle/boot-logger';
import { listenFailure } from './lifecycle/service-error';
import { Problem, type ProblemMapping } from './problems/problem';
import { ProblemFilter, sendProblem } from './problems/problem-filter';
import { RequestValidationPipe } from './problems/validation';
import { TransportModule, Transports } from './transport/transports';

export interface ServiceSettings {
  /** In logs and in the API's description. */
  readonly name: string;
  readonly version?: string;
  readonly config: Pick<ServiceConfig, 'host' | 'port' | 'logLevel'>;
  /** How errors of the service's own libraries are answered; asked in order, before what is known to all services. */
  readonly problems?: readonly ProblemMapping[];
  readonly logDestination?: LogSettings['destination'];
}

const REQUEST_MS = 60_000;
const KEEP_ALIVE_MS = 65_000; // longer than a balancer's usual 60 s, so that it is the balancer who closes

/**
 * An HTTP service around Nest modules: Fastify, problem documents, one log line a request, `/metrics`, `/health/live`,
 * `/health/ready`, and the API's description at `/docs`.
 */
export class ServiceApp {
  private stopped: Promise<void> | undefined;

  private constructor(
    readonly nest: NestFastifyApplication,
    private readonly config: ServiceSettings['config'],
    private readonly requests: RequestLife,
  ) {}

  static async create(
    modules: readonly (Type | DynamicModule)[],
    settings: ServiceSettings,
  ): Promise<ServiceApp> {
    const { name, config } = settings;
    const adapter = new FastifyAdapter({
      bodyLimit: LIMITS.maximumBodyBytes,
      genReqId: correlationIdOf,
      requestTimeout: REQUEST_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      logger: false,
      frameworkErrors: answerBrokenAddress,
    });
    const fastify = adapter.getInstance<FastifyInstance>();
    const requests = new RequestLife(fastify);
    const root: DynamicModule = {
      module: class ServiceModule {},
      imports: [
        LoggingModule.register({
          level: config.logLevel,
          service: name,
          destination: settings.logDestination,
        }),
        MetricsModule,
        HealthModule,
        TransportModule,
        ...modules,
      ],
    };
    const nest = await NestFactory.create<NestFastifyApplication>(root, adapter, {
      bodyParser: false,
      bufferLogs: true,
      abortOnError: false,
    });
    const logger = nest.get<Logger>(LoggingModule.LOGGER);
    nest.useLogger(new BootLogger(new NestLogger(logger)));
    const problems = new ProblemFilter(logger, settings.problems ?? [], {
      bodyBytes: LIMITS.maximumBodyBytes,
    });
    addBodyParsers(fastify);
    connectDirectRoutes(fastify, nest, problems);
    requests.whenEnded(requestMetrics(nest.get(Metrics)));
    const log = new RequestLog(logger);
    requests.whenEnded(({ id, method, url }, ended) =>
      log.write({ method, url, correlationId: id, status: ended.status, durationMs: ended.durationMs }),
    );
    nest.useGlobalPipes(new RequestValidationPipe());
    nest.useGlobalFilters(problems);
    describeApi(nest, settings);
    return new ServiceApp(nest, config, requests);
  }

  /**
   * Starts the transports that its modules have added, then HTTP.
   *
   * @returns the address that it answers at
   * @throws ServiceError 'port-in-use', 'port-forbidden' or 'host-unknown', or the error of a transport
   */
  async listen(): Promise<string> {
    const { host, port } = this.config;
    try {
      await this.nest.init();
      for (const strategy of this.nest.get(Transports).all()) {
        this.nest.connectMicroservice<MicroserviceOptions>({ strategy });
      }
      await this.nest.startAllMicroservices();
      await this.nest.listen(port, host);
    } catch (error) {
      await this.stop();
      throw listenFailure(error, this.config) ?? error;
    }
    return this.url;
  }

  /** `http://127.0.0.1:8377`: where programs on this machine reach it. */
  get url(): string {
    const { address, port, family } = this.nest.getHttpServer().address() as AddressInfo;
    const everywhere = address === '0.0.0.0' || address === '::';
    const host = everywhere ? '127.0.0.1' : family === 'IPv6' ? `[${address}]` : address;
    return `http://${host}:${port}`;
  }

  /** Resolves with the reason where the process can't go on; see Liveness. */
  get failed(): Promise<Error> {
    return this.nest.get(Liveness).failed;
  }

  /**
   * Says "not ready", runs `onModuleDestroy` and `beforeApplicationShutdown` (stop taking work there), answers the requests in
   * flight (those that aren't whole after 2 s are cut off), closes the transports (each lets its handler end), then runs `onApplicationShutdown` (close there what requests and
   * handlers need). A second call waits for the first.
   */
  stop(): Promise<void> {
    this.stopped ??= Promise.resolve().then(async () => {
      this.nest.get(Readiness).stop();
      await this.requests.drainDuring(() => this.nest.close());
    });
    return this.stopped;
  }
}

/** A service of one module or several; see ServiceApp. */
export function createServiceApp(
  modules: Type | DynamicModule | readonly (Type | DynamicModule)[],
  settings: ServiceSettings,
): Promise<ServiceApp> {
  return ServiceApp.create(Array.isArray(modules) ? modules : [modules as Type | DynamicModule], settings);
}

/** An address that can't be decoded never reaches a route, nor Nest. */
const answerBrokenAddress: FastifyServerOptions<Server>['frameworkErrors'] = (error, request, reply) => {
  const problem = new Problem('invalid-request', error.message);
  sendProblem(problem, request as FastifyRequest, reply as unknown as FastifyReply);
};

function describeApi(nest: NestFastifyApplication, { name, version }: ServiceSettings): void {
  const description = new DocumentBuilder()
    .setTitle(name)
    .setVersion(version ?? '1')
    .setDescription('Errors are RFC 9457 problem documents; their `type` is stable.')
    .build();
  const document = (): ReturnType<typeof cleanupOpenApiDoc> =>
    cleanupOpenApiDoc(SwaggerModule.createDocument(nest, description));
  SwaggerModule.setup('docs', nest, document, { jsonDocumentUrl: 'docs/openapi.json' });
}
