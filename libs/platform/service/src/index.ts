export {
  HostedService,
  type HostedServiceSettings,
  runService,
  type ServiceHost,
} from './hosting/hosted-service';
export { CORRELATION_HEADER } from './http/correlation-id';
export { DirectRoute } from './http/direct-route';
export { ServiceError, type ServiceErrorCode } from './lifecycle/service-error';
export { type ShutdownSettings, type Stopped, stopOnSignal, type StopSignal } from './lifecycle/shutdown';
export { Problem, type ProblemMapping, type ProblemOptions } from './problems/problem';
export { invalidRequest, RequestValidationPipe } from './problems/validation';
export { createServiceApp, type ServiceApp, type ServiceSettings } from './service-app';
export { Transports } from './transport/transports';
