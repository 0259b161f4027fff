export { collectionGateway } from './collection-gateway';
export {
  CollectionGatewayModule,
  type CollectionGatewayOptions,
  type GatewayPart,
} from './collection-gateway.module';
export { gatewayProblem } from './gateway-problem';
export { kafkaConnection, withKafkaAdvice } from './report-log/open-report-log';
