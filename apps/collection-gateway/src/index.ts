export { CollectionGatewayModule, type CollectionGatewayOptions } from './collection-gateway.module';
export { gatewayProblem } from './gateway-problem';
