export {
  type ClassifierTrainingConfig,
  classifierTrainingVariables,
  type CollectionGatewayConfig,
  collectionGatewayVariables,
  type KafkaConfig,
  kafkaVariables,
  type MechanismTrainingConfig,
  mechanismTrainingVariables,
  type ServiceConfig,
  serviceVariables,
  type UndertoneConfig,
  undertoneVariables,
} from './configs';
export { describeConfig, type DescribedVariable, renderEnvExample } from './describe-config';
export {
  ConfigError,
  type ConfigOf,
  type ConfigVariables,
  type Environment,
  loadConfig,
} from './load-config';
export { readEnvironment } from './read-environment';
